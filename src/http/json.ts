/**
 * JSON in both directions. The content type has no charset: old clients compare it as a whole. No cache keeps it: where
 * the key stands in the URL, one that is shared would give it to others.
 */
export function jsonResponse(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  const defaultHeaders = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return new Response(JSON.stringify(body), { status, headers: { ...defaultHeaders, ...headers } })
}
