import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import type { Fetch } from '../../../src/http/server.ts'
import { documentedFailuresOf, failureBody, rateLimitedBody } from '../../../src/rest/documented-failures.ts'
import { findRoutes } from '../../../src/rest/paths.ts'
import { routes } from '../../../src/rest/routes.ts'

/** Throws if a REST answer does not match the OpenAPI document. All tests run with it. */
export function requireDocumented(fetch: Fetch): Fetch {
  return async (request, arrival) => {
    const { method } = request
    const { pathname } = new URL(request.url)
    const response = await fetch(request, arrival)
    if (!pathname.startsWith('/api/') || method === 'HEAD') return response
    // The document leaves 304 and content encodings to HTTP. Other tests check the same routes without them.
    if (response.status === 304 || response.headers.has('content-encoding')) return response
    const text = await response.clone().text()
    const body = response.headers.get('content-type') === 'application/json' ? parse(text) : text
    const schemas = documentedSchemas(method, pathname, response.status, body?.error)
    if (schemas.some(schema => matchesExactly(schema, body))) return response
    throw new Error(`${method} ${pathname} is not documented to answer ${response.status} ${JSON.stringify(body)}`)
  }
}

/** Parses JSON without `__proto__` keys, which schemas cannot see. */
function parse(text: string) {
  return JSON.parse(text, (key, value) => (key === '__proto__' ? undefined : value))
}

function documentedSchemas(method: string, pathname: string, status: number, code: unknown): z.ZodType[] {
  const route = findRoutes(routes, pathname).routes.find(route => route.method === method)
  if (!route && status === 429) return [rateLimitedBody]
  if (!route) return status === 404 || status === 405 ? [failureBody] : []
  if (status === 200) return [route.result]
  const failures = documentedFailuresOf(route).filter(failure => failure.status === status && failure.error === code)
  return failures.map(({ body = failureBody }) => body)
}

/** Parsing drops undocumented fields, so they show as a difference. */
function matchesExactly(schema: z.ZodType, body: unknown): boolean {
  const { success, data } = schema.safeParse(body)
  return success && isDeepStrictEqual(data, body)
}
