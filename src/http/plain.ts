// Plain requests: a POST of a small JSON text, or a GET of a stream, with nothing unusual about it. The objects of the fetch
// API cost more than a small answer or an open stream, so plain requests are answered without them.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { maxBodyBytes } from './body.ts'
import type { Client } from './client.ts'
import { type EventStream, sendEvents } from './event-stream.ts'
import { disconnectedStatus, type LoggedRequest, type RequestContext } from './router.ts'

export type PlainRequest = {
  method: string
  /** What the URL of a GET has after its question mark. A POST has a body instead. */
  search: string
  headers: IncomingHttpHeaders
  client: Client
  /** Reads the body; undefined if it is not UTF-8. Fails if the client disconnects before it has sent all. */
  readBody(): Promise<string | undefined>
  isDisconnected(): boolean
}
export type PlainAnswer = { status: number; headers: Record<string, string>; body: string | EventStream }
/** Answers the request, or returns undefined: then the router answers it. It may have read the body. */
export type PlainHandler = (request: PlainRequest, context: RequestContext) => Promise<PlainAnswer | undefined>
/** The same, with an id, a log and metrics. Otherwise returns the begun log, so that the request gets one id and one line. */
export type PlainFetch = (
  path: string,
  request: PlainRequest,
  begun?: LoggedRequest,
) => Promise<{ answer: PlainAnswer } | { begun: LoggedRequest }>

const plainPath = '/graphql'

export function isPlain(request: IncomingMessage): boolean {
  if (request.headers['content-encoding'] !== undefined) return false
  return request.method === 'GET' ? isPlainGet(request) : isPlainPost(request)
}

function isPlainPost({ method, url, headers }: IncomingMessage): boolean {
  return method === 'POST' && url === plainPath && isJson(headers) && Number(headers['content-length']) <= maxBodyBytes
}

/** A browser that opens the address gets a page, so a plain GET accepts nothing but a stream. */
function isPlainGet({ url = '', headers }: IncomingMessage): boolean {
  return (
    headers.accept === 'text/event-stream' &&
    url.startsWith(`${plainPath}?`) &&
    /^[!"$-~]+$/.test(url) &&
    (headers['content-type'] === undefined || isJson(headers)) &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined
  )
}

function isJson(headers: IncomingHttpHeaders): boolean {
  return /^application\/json(; ?charset=utf-8)?$/i.test(headers['content-type'] ?? '')
}

/** Answers the request, or returns its begun log. If its body was read by then, `request.body` has it. */
export async function answerPlainly(
  request: IncomingMessage & { body?: Readable },
  response: ServerResponse,
  client: Client,
  fetch: PlainFetch,
  begun?: LoggedRequest,
): Promise<LoggedRequest | undefined> {
  let bytes: Buffer | undefined
  const readBody = async () => {
    bytes = await readBytes(request)
    return decode(bytes)
  }
  const isDisconnected = () => response.destroyed
  const { method = '', url = '', headers } = request
  const search = url.slice(plainPath.length + 1)
  const result = await fetch(plainPath, { method, search, headers, client, readBody, isDisconnected }, begun)
  if ('begun' in result) {
    // A stream, because the adapter of fetch objects lists the keys of what it finds here: a buffer has one for each byte.
    if (bytes) request.body = Readable.from([bytes])
    if (!isDisconnected()) return result.begun
    // The adapter would miss that the client has gone, and open a stream that nobody reads.
    result.begun.end(plainPath, disconnectedStatus)
    return undefined
  }
  const { status, headers: answered, body } = result.answer
  if (typeof body === 'string') {
    response.writeHead(status, { ...answered, 'content-length': Buffer.byteLength(body) })
    response.end(body)
  } else {
    response.writeHead(status, answered)
    void sendEvents(response, body)
  }
  return undefined
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  let chunks: Buffer[] = []
  const disconnected = () => new Error('The client disconnected before it had sent all.')
  return new Promise((resolve, reject) => {
    // Its events may be over: the key was checked first.
    if (request.destroyed) reject(disconnected())
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => {
      resolve(Buffer.concat(chunks))
      // An open stream holds this listener, and must not hold what its request sent.
      chunks = []
    })
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
