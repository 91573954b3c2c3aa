import { authenticate } from '../auth/authenticate.ts'
import { type Actor, anybody } from '../domain/actor.ts'
import { readBody } from '../http/body.ts'
import type { Handler } from '../http/context.ts'
import { authoriseAtAll } from '../services/authorize.ts'
import { explainFailure } from '../services/failures.ts'
import type { Services } from '../services/services.ts'
import { present, presentFixed } from './answers.ts'
import { doubtOf, explain, failure } from './errors.ts'
import { parseBody, readInput } from './input.ts'
import { isOffered } from './not-offered.ts'
import { findRoutes, originOf } from './paths.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'
import { insteadOf } from './unserved.ts'

/** `publicSearch`: whether everybody may search, also without a key. */
export type RestOptions = { publicSearch: boolean }

/** Answers every request under /api/. Whatever goes wrong, the answer is JSON in one shape. */
export function createRestFace(services: Services, options: RestOptions): Handler {
  return async (request, { requestId, log }) => {
    try {
      return await answer(request, services, options)
    } catch (error) {
      const known = explain(explainFailure(error))
      if (known) return known
      log.error({ err: error }, 'A REST request failed.')
      return failure(500, 'internal_error', `Something went wrong on our side. Tell us the request id ${requestId}.`)
    }
  }
}

async function answer(request: Request, services: Services, options: RestOptions): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url)
  const { routes: atPath, params } = findRoutes(routes, pathname)
  const route = atPath.find(({ method }) => method === request.method)
  if (!route) {
    if (atPath.length === 0) {
      const instead = insteadOf(pathname)
      return failure(404, 'not_found', `There is no ${pathname} here.${instead ? ` ${instead}` : ''}`)
    }
    const offered = atPath.filter(isOffered)
    // A path at which no method does anything.
    if (offered.length === 0) return failure(404, 'not_found', `There is no ${pathname} here. ${atPath[0]?.about}`)
    // Whatever answers GET answers HEAD.
    const allow = offered.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
    return failure(405, 'method_not_allowed', `${request.method} does not work on ${pathname}; ${allow} does.`, {
      allow,
    })
  }
  // Who may not ask is told so before anything that was sent is read.
  const actor = await actorOf(request, services, route, query.get('api_key'), options)
  const body = request.method === 'GET' ? {} : parseBody(await readBody(request))
  const idempotencyKey = (route.repeatable && request.headers.get('idempotency-key')) || undefined
  const given = { services, actor, idempotencyKey, origin: originOf(request) }
  const input = { ...given, ...readInput(route, { params, query, body }) }
  if (route.isFixed) return await presentFixed(route, request, () => route.answer(input))
  const result = await route.answer(input).catch((error: unknown) => {
    throw doubtOf(route, error, idempotencyKey)
  })
  return present(route, result)
}

/** Who asks; undefined where nobody needs to be known. */
async function actorOf(
  request: Request,
  services: Services,
  { open, operation, publicSearch }: Route,
  queryKey: string | null,
  options: RestOptions,
): Promise<Actor | undefined> {
  if (open) return undefined
  const hasKey = request.headers.has('authorization') || queryKey
  const actor =
    publicSearch && options.publicSearch && !hasKey ? anybody : await authenticate(request, services, queryKey)
  if (operation) authoriseAtAll(actor, operation)
  return actor
}
