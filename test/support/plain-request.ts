import type { PlainRequest } from '../../src/http/plain.ts'

/** A plain request that has arrived whole. */
export function plainRequest(headers: PlainRequest['headers'], body: string): PlainRequest {
  return { headers, readBody: () => Promise.resolve(body), isDisconnected: () => false }
}
