import { authenticate } from '../auth/authenticate.ts'
import { DomainError } from '../domain/errors.ts'
import { readBody } from '../http/body.ts'
import type { Handler } from '../http/context.ts'
import { json } from '../http/json.ts'
import { explainFailure } from '../services/failures.ts'
import type { Services } from '../services/services.ts'
import { accountRoutes } from './accounts.ts'
import { explain, failure } from './errors.ts'
import { offerRoutes } from './offers.ts'
import type { Route } from './route.ts'

export const routes: Route[] = [...offerRoutes, ...accountRoutes]

/** Answers every request under /api/. Whatever goes wrong, the answer is JSON in one shape. */
export function createRestFace(services: Services): Handler {
  return async (request, { requestId, log }) => {
    try {
      return await answer(request, services)
    } catch (error) {
      const known = explain(explainFailure(error))
      if (known) return known
      log.error({ err: error }, 'A REST request failed.')
      return failure(500, 'internal_error', `Something went wrong on our side. Tell us the request id ${requestId}.`)
    }
  }
}

async function answer(request: Request, services: Services): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  // Clients write paths with and without the last slash, and would lose the body or the key in a redirect.
  const path = pathname.endsWith('/') ? pathname : `${pathname}/`
  const atPath = routes.filter(route => route.path === path)
  const route = atPath.find(({ method }) => method === request.method)
  if (!route) {
    if (atPath.length === 0) return failure(404, 'not_found', `There is no ${pathname} here.`)
    const allow = atPath.map(({ method }) => method).join(', ')
    return failure(405, 'method_not_allowed', `${request.method} does not work on ${pathname}; ${allow} does.`, {
      allow,
    })
  }
  const read = async () => ({
    services,
    query: searchParams,
    body: request.method === 'GET' ? undefined : parseBody(await readBody(request)),
  })
  if (route.open) return json(200, await route.answer(await read()))
  const actor = await authenticate(request, services, searchParams.get('api_key'))
  return json(200, await route.answer({ actor, ...(await read()) }))
}

/** An empty body is none, whatever its declared type is. */
function parseBody(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return undefined
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>
  } catch {
    // Answered below.
  }
  throw new DomainError('INVALID_INPUT', 'Invalid json body')
}
