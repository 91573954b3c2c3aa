// Executes the operations of plain requests, which most requests of programs are, in a fifth of the time that Yoga's pipeline
// takes. Refuses callers that it does not know. Yoga answers whatever else fails before the execution.

import { type ExecutionResult, getOperationAST } from 'graphql'
import { processRegularResult, type YogaServerInstance } from 'graphql-yoga'
import { authenticate } from '../../auth/authenticate.ts'
import type { PlainAnswer, PlainHandler, PlainRequest } from '../../http/plain.ts'
import type { RequestContext } from '../../http/router.ts'
import type { Services } from '../../services/services.ts'
import type { Context } from '../context.ts'
import { completeError } from '../errors/face-errors.ts'
import { refusalResponse } from '../errors/response.ts'
import { mayMutate, type OperationParams, type PreparedOperation, prepareOperation } from './operation.ts'

type Yoga = Pick<YogaServerInstance<Context, object>, 'getEnveloped' | 'fetchAPI'>

export function createPlainFace({ getEnveloped, fetchAPI }: Yoga, services: Services): PlainHandler {
  return async (request, context) => {
    try {
      return await answer(request, context)
    } catch (error) {
      if (request.isDisconnected()) throw error
      return await toPlainAnswer(refusalResponse(error, context))
    }
  }

  async function answer(
    { headers, readBody }: PlainRequest,
    context: RequestContext,
  ): Promise<PlainAnswer | undefined> {
    const mediaType = mediaTypeOf(headers.accept)
    const since = performance.now()
    const identify = (fresh: boolean) => authenticate(headers.authorization, services, { fresh, since })
    // Checked before the body is read, so that callers without a key cannot fill the memory.
    const reader = await identify(false)
    const params = mediaType && parseParams((await readBody()) ?? '')
    if (!params) return undefined
    const actor = mayMutate(params) ? await identify(true) : reader
    const operation = await prepare(params, { ...context, actor, services, disconnected: neverDisconnected })
    if (!operation) return undefined
    // The schema has neither @defer nor @stream, so an execution has one result.
    const result = (await operation.execute(operation)) as ExecutionResult
    if (!result.errors) return { status: 200, headers: contentTypeOf(mediaType), body: JSON.stringify(result) }
    const completed = { ...result, errors: result.errors.map(completeError) }
    return await toPlainAnswer(processRegularResult(completed, fetchAPI, mediaType))
  }

  /** The query or mutation; undefined if it may not run. */
  async function prepare(params: OperationParams, context: Context): Promise<PreparedOperation | undefined> {
    const operation = await prepareOperation(getEnveloped, context, params)
    if (!('document' in operation)) return undefined
    const { document, operationName } = operation
    return getOperationAST(document, operationName)?.operation === 'subscription' ? undefined : operation
  }
}

/** Queries and mutations run to their end even if the client disconnects. */
const neverDisconnected = new AbortController().signal

/** The parameters of a request, if they have the form that Yoga takes. */
function parseParams(body: string): OperationParams | undefined {
  try {
    const params: unknown = JSON.parse(body)
    if (!isObject(params)) return undefined
    const { query, variables, operationName, ...others } = params
    const isPlain =
      typeof query === 'string' &&
      (variables == null || isObject(variables)) &&
      (operationName == null || typeof operationName === 'string') &&
      Object.keys(others).length === 0
    return isPlain ? { query, variables, operationName } : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type MediaType = 'application/json' | 'application/graphql-response+json'

/** The media type that Yoga answers with; undefined for Accept headers that it judges itself. */
function mediaTypeOf(accept = '*/*'): MediaType | undefined {
  const asked = accept.split(',').map(part => part.trim())
  if (asked.some(part => !/^[a-z*]+\/[a-z+*-]+(; ?q=[\d.]+)?$/.test(part))) return undefined
  for (const part of asked) {
    const mediaType = mediaTypes.get(part.replace(/;.*/, ''))
    if (mediaType) return mediaType
  }
  return undefined
}

const mediaTypes = new Map<string, MediaType>([
  ['application/graphql-response+json', 'application/graphql-response+json'],
  ['application/json', 'application/json'],
  ['application/*', 'application/json'],
  ['*/*', 'application/json'],
])

function contentTypeOf(mediaType: MediaType): Record<string, string> {
  return { 'content-type': `${mediaType}; charset=utf-8` }
}

async function toPlainAnswer(response: Response): Promise<PlainAnswer> {
  return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
}
