import type { PlainAnswer, PlainRequest } from '../../src/http/plain.ts'

/** A plain request that has arrived whole. */
export function plainRequest(headers: PlainRequest['headers'], body: string): PlainRequest {
  const readBody = () => Promise.resolve(body)
  const client = { address: '127.0.0.1' }
  return { method: 'POST', search: '', headers, client, readBody, isDisconnected: () => false }
}

/** The body of an answer that is not a stream. */
export function textOf({ body }: Pick<PlainAnswer, 'body'>): string {
  if (typeof body !== 'string') throw new Error('The answer is a stream.')
  return body
}
