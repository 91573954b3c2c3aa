import { streamPieces } from './pieces.ts'

/**
 * A JSON response. The content type has no charset: old clients compare the whole value. Caches must not store it: with
 * the key in the URL, a shared cache would serve it to other clients.
 */
export function jsonResponse(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return printedJsonResponse(status, JSON.stringify(body), headers)
}

/** `jsonResponse` for a body that is printed already, as a text or as bytes in pieces. */
export function printedJsonResponse(
  status: number,
  printed: string | readonly Uint8Array[],
  headers: Record<string, string> = {},
): Response {
  const defaultHeaders = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  if (typeof printed === 'string') return new Response(printed, { status, headers: { ...defaultHeaders, ...headers } })
  const length = printed.reduce((sum, { byteLength }) => sum + byteLength, 0)
  return new Response(streamPieces(printed), {
    status,
    headers: { ...defaultHeaders, 'content-length': String(length), ...headers },
  })
}
