// Plain requests: a POST of a small JSON text, with nothing unusual about it. The objects of the fetch API cost more than a
// small answer, so plain requests are answered without them.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { maxBodyBytes } from './body.ts'
import type { LoggedRequest, RequestContext } from './router.ts'

export type PlainRequest = {
  headers: IncomingHttpHeaders
  /** Reads the body; undefined if it is not UTF-8. Fails if the client disconnects before it has sent all. */
  readBody(): Promise<string | undefined>
  isDisconnected(): boolean
}
export type PlainAnswer = { status: number; headers: Record<string, string>; body: string }
/** Answers the request, or returns undefined without side effects. The router answers it then. */
export type PlainHandler = (request: PlainRequest, context: RequestContext) => Promise<PlainAnswer | undefined>
/** The same, with an id, a log and metrics. A request that it does not answer has begun, and is not begun again. */
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

/** Answers the request, or returns it as begun. If its body was read by then, `request.body` has it. */
export async function answerPlainly(
  request: IncomingMessage & { body?: Readable },
  response: ServerResponse,
  fetch: PlainFetch,
): Promise<LoggedRequest | undefined> {
  const readBody = async () => {
    const bytes = await readBytes(request)
    // A stream, because the adapter of fetch objects lists the keys of what it finds here: a buffer has one for each byte.
    request.body = Readable.from([bytes])
    return decode(bytes)
  }
  const isDisconnected = () => response.destroyed
  const result = await fetch(plainPath, { headers: request.headers, readBody, isDisconnected })
  if ('begun' in result) return result.begun
  const { answer } = result
  response.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) })
  response.end(answer.body)
  return undefined
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', reject)
    request.once('close', () => reject(new Error('The client disconnected before it had sent all.')))
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
