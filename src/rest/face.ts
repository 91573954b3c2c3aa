import { authenticate } from '../auth/authenticate.ts'
import { readBody } from '../http/body.ts'
import type { Handler } from '../http/context.ts'
import { json } from '../http/json.ts'
import { authoriseAtAll } from '../services/authorise.ts'
import { explainFailure } from '../services/failures.ts'
import type { Services } from '../services/services.ts'
import { explain, failure } from './errors.ts'
import { parseBody, readInput } from './input.ts'
import { findRoutes } from './paths.ts'
import { routes } from './routes.ts'

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
  const { pathname, searchParams: query } = new URL(request.url)
  const { routes: atPath, params } = findRoutes(routes, pathname)
  const route = atPath.find(({ method }) => method === request.method)
  if (!route) {
    if (atPath.length === 0) return failure(404, 'not_found', `There is no ${pathname} here.`)
    const allow = atPath.map(({ method }) => method).join(', ')
    return failure(405, 'method_not_allowed', `${request.method} does not work on ${pathname}; ${allow} does.`, {
      allow,
    })
  }
  // Who may not ask is told so before anything that was sent is read.
  const actor = route.open ? undefined : await authenticate(request, services, query.get('api_key'))
  if (actor && route.operation) authoriseAtAll(actor, route.operation)
  const body = request.method === 'GET' ? {} : parseBody(await readBody(request))
  const idempotencyKey = (route.repeatable && request.headers.get('idempotency-key')) || undefined
  return json(
    200,
    await route.answer({ services, actor, idempotencyKey, ...readInput(route, { params, query, body }) }),
  )
}
