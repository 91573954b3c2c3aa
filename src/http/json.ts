/**
 * A JSON response. The content type has no charset: old clients compare the whole value. Caches must not store it: with
 * the key in the URL, a shared cache would serve it to other clients.
 */
export function jsonResponse(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return printedJsonResponse(status, JSON.stringify(body), headers)
}

/** `jsonResponse` for a body that is printed already. */
export function printedJsonResponse(status: number, text: string, headers: Record<string, string> = {}): Response {
  const defaultHeaders = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return new Response(text, { status, headers: { ...defaultHeaders, ...headers } })
}
