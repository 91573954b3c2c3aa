// Plain requests: a POST of a small JSON text, with nothing unusual about it. The objects of the fetch API cost more than a
// small answer, so plain requests are answered without them.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { maxBodyBytes } from './body.ts'
import type { RequestContext } from './router.ts'

export type PlainRequest = {
  headers: IncomingHttpHeaders
  body: string
  /** Aborted when the client disconnects before the answer. */
  disconnected: AbortSignal
}
export type PlainAnswer = { status: number; headers: Record<string, string>; body: string }
/** Answers a plain request, or leaves it to the others: then it has done nothing. */
export type PlainHandler = (request: PlainRequest, context: RequestContext) => Promise<PlainAnswer | undefined>
/** The same, with an id, a log and metrics. */
export type PlainFetch = (path: string, request: PlainRequest) => Promise<PlainAnswer | undefined>

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

/**
 * Answers the request if it is one that the handler takes. Otherwise returns false, and the body that it has read is the
 * property `body` of the request.
 */
export async function answerPlainly(
  request: IncomingMessage & { body?: Buffer },
  response: ServerResponse,
  fetch: PlainFetch,
): Promise<boolean> {
  const bytes = await readBytes(request)
  request.body = bytes
  const body = decode(bytes)
  if (body === undefined) return false
  const disconnected = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) disconnected.abort()
  })
  const answer = await fetch(plainPath, { headers: request.headers, body, disconnected: disconnected.signal })
  if (!answer) return false
  response.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) })
  response.end(answer.body)
  return true
}

/** Never settles for a client that disconnects before it has sent all: there is nobody to answer. */
function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  return new Promise(resolve => {
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => resolve(Buffer.concat(chunks)))
  })
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function decode(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
