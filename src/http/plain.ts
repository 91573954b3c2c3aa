// Plain requests: a POST of a small JSON text, with nothing unusual about it. The objects of the fetch API cost more than a
// small answer, so plain requests are answered without them.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { maxBodyBytes } from './body.ts'
import { disconnectedStatus, type LoggedRequest, type RequestContext } from './router.ts'

export type PlainRequest = {
  headers: IncomingHttpHeaders
  /** Reads the body; undefined if it is not UTF-8. Fails if the client disconnects before it has sent all. */
  readBody(): Promise<string | undefined>
  isDisconnected(): boolean
}
export type PlainAnswer = { status: number; headers: Record<string, string>; body: string }
/** Answers the request, or returns undefined: then the router answers it. It may have read the body. */
export type PlainHandler = (request: PlainRequest, context: RequestContext) => Promise<PlainAnswer | undefined>
/** The same, with an id, a log and metrics. Otherwise returns the begun log, so that the request gets one id and one line. */
export type PlainFetch = (
  path: string,
  request: PlainRequest,
) => Promise<{ answer: PlainAnswer } | { begun: LoggedRequest }>

const plainPath = '/graphql'

export function isPlain({ method, url, headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    url === plainPath &&
    /^application\/json(; ?charset=utf-8)?$/i.test(headers['content-type'] ?? '') &&
    headers['content-encoding'] === undefined &&
    Number(headers['content-length']) <= maxBodyBytes
  )
}

/** Answers the request, or returns its begun log. If its body was read by then, `request.body` has it. */
export async function answerPlainly(
  request: IncomingMessage & { body?: Readable },
  response: ServerResponse,
  fetch: PlainFetch,
): Promise<LoggedRequest | undefined> {
  let bytes: Buffer | undefined
  const readBody = async () => {
    bytes = await readBytes(request)
    return decode(bytes)
  }
  const isDisconnected = () => response.destroyed
  const result = await fetch(plainPath, { headers: request.headers, readBody, isDisconnected })
  if ('begun' in result) {
    // A stream, because the adapter of fetch objects lists the keys of what it finds here: a buffer has one for each byte.
    if (bytes) request.body = Readable.from([bytes])
    if (!isDisconnected()) return result.begun
    // The adapter would miss that the client has gone, and open a stream that nobody reads.
    result.begun.end(plainPath, disconnectedStatus)
    return undefined
  }
  const { answer } = result
  response.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) })
  response.end(answer.body)
  return undefined
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  const disconnected = () => new Error('The client disconnected before it had sent all.')
  return new Promise((resolve, reject) => {
    // Its events may be over: the key was checked first.
    if (request.destroyed) reject(disconnected())
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', reject)
    request.once('close', () => reject(disconnected()))
  })
}

/** A byte order mark stays in the text, which is no JSON then. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
