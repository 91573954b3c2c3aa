// Errors of the face itself and of its libraries: about a request, an operation or an answer as a whole.

import { type ExecutionResult, GraphQLError, type GraphQLErrorOptions } from 'graphql'
import { nameOf } from '../enum.ts'
import { type FaceErrorCode, faceErrors, isFaceErrorCode } from './codes.ts'

/** `spec`: the status is 200 in answers of the type `application/json`. Yoga reads it. */
type Http = { status: number; headers?: Record<string, string>; spec?: boolean }
type FaceErrorOptions = Omit<GraphQLErrorOptions, 'extensions'> & { http?: Http }

export function faceError(
  code: FaceErrorCode,
  message: string,
  { http, ...options }: FaceErrorOptions = {},
): GraphQLError {
  return new GraphQLError(message, { ...options, extensions: { ...extensionsOf(code), ...(http && { http }) } })
}

/** What every error with this code has in its extensions. */
export function extensionsOf(code: FaceErrorCode) {
  return { code, retry: nameOf(faceErrors[code]) }
}

/**
 * Every error passes here when it leaves the face. Those of libraries get what all have: a documented code, and advice.
 * They are about the request if their code is another one.
 */
export function completeError(error: GraphQLError): GraphQLError {
  if (error.extensions['retry'] !== undefined) return error
  const { code } = error.extensions
  const known = extensionsOf(isFaceErrorCode(code) ? code : 'BAD_REQUEST')
  return replaceError(error, plainerMessages[error.message] ?? error.message, { ...error.extensions, ...known })
}

const plainerMessages: Record<string, string> = {
  // curl says that what it sends is a form, unless told otherwise.
  'Must provide query string.':
    'The request has no query. Send JSON, {"query": "…"}, with the header "Content-Type: application/json".',
}

/** The errors of an answer over HTTP, complete and with its status. */
export function completeErrors({ errors = [], ...answer }: ExecutionResult): GraphQLError[] {
  const completed = errors.map(completeError)
  return 'data' in answer ? completed : completed.map(withRequestStatus)
}

/**
 * A request that is none of GraphQL has the status 400 at least. A request of GraphQL that did not run has 400, too, but 200 in
 * `application/json`, as GraphQL over HTTP asks for: other statuses may come from a proxy, with JSON that is no answer of GraphQL.
 */
function withRequestStatus(error: GraphQLError): GraphQLError {
  const { code, http } = error.extensions as { code: string; http?: Http }
  const status = http?.status ?? (code === 'INTERNAL_SERVER_ERROR' ? 500 : 400)
  const spec = status === 400 && code !== 'BAD_REQUEST'
  return replaceError(error, error.message, { ...error.extensions, http: { ...http, status, spec } })
}

/** The error with another message and other extensions. */
export function replaceError(error: GraphQLError, message: string, extensions: Record<string, unknown>): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null } = error
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}
