import { json } from '../http/json.ts'
import type { Route } from './route.ts'

/** The page needs nothing from anywhere, and runs nothing. What stands in a text is not ours, and is no page. */
const security =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** A success, in the type that its route says. */
export function present({ produces }: Pick<Route, 'produces'>, result: unknown): Response {
  if (!produces) return json(200, result)
  return new Response(String(result), {
    headers: {
      // Clients take a text without a charset for Latin-1.
      'content-type': `${produces}; charset=utf-8`,
      'cache-control': 'no-store',
      'content-security-policy': security,
    },
  })
}
