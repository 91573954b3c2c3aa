import { authenticate } from '../auth/authenticate.ts'
import { type Actor, anonymousActor } from '../domain/actor.ts'
import { readBody } from '../http/body.ts'
import type { Client } from '../http/client.ts'
import type { Handler } from '../http/router.ts'
import { authorizeOperation } from '../services/authorize.ts'
import { translateDatabaseError } from '../services/database-errors.ts'
import type { Services } from '../services/services.ts'
import { errorResponse, failureResponse, replaceUncertainOutcome } from './errors.ts'
import { parseBody, parseInput } from './input.ts'
import { isImplemented } from './not-implemented.ts'
import { findRoutes, originOf } from './paths.ts'
import { fixedAsset, fixedResponse, successResponse } from './responses.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'
import { findAlternative } from './unserved.ts'

/** `publicSearch`: whether searches need no key. */
type RestOptions = { publicSearch: boolean }

/** Answers every request under /api/. Every failure is JSON of one shape. */
export function createRestFace(services: Services, options: RestOptions): Handler {
  return async (request, { requestId, log, client }) => {
    try {
      return await answer(request, client, services, options)
    } catch (error) {
      const known = errorResponse(translateDatabaseError(error))
      if (known) return known
      log.error({ err: error }, 'A REST request failed.')
      return failureResponse(
        500,
        'internal_error',
        `The gateway failed to process the request. Report the request id ${requestId} to its operator.`,
      )
    }
  }
}

/** Makes the documents that every caller gets. Their first readers would hold up all other requests. */
export async function prepareDocuments(services: Services): Promise<void> {
  const input = { services, params: {}, query: {}, body: {}, idempotencyKey: undefined, origin: '' }
  for (const route of routes) if (route.isFixed) await fixedAsset(route, () => route.answer(input))
}

async function answer(request: Request, client: Client, services: Services, options: RestOptions): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url)
  const { routes: atPath, params } = findRoutes(routes, pathname)
  const route = atPath.find(({ method }) => method === request.method)
  if (!route) {
    if (atPath.length === 0) {
      const instead = findAlternative(pathname)
      return failureResponse(404, 'not_found', `There is no ${pathname} here.${instead ? ` ${instead}` : ''}`)
    }
    const implemented = atPath.filter(isImplemented)
    // Every route at this path answers 501.
    if (implemented.length === 0)
      return failureResponse(404, 'not_found', `There is no ${pathname} here. ${atPath[0]?.about}`)
    // Every path with GET also has HEAD.
    const allow = implemented.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
    return failureResponse(
      405,
      'method_not_allowed',
      `${request.method} is not allowed on ${pathname}. Allowed: ${allow}.`,
      {
        allow,
      },
    )
  }
  // A caller without permission is refused before the body is read.
  const actor = await actorOf(request, services, route, query.get('api_key'), options)
  const body = request.method === 'GET' ? {} : parseBody(await readBody(request))
  const idempotencyKey = (route.takesIdempotencyKey && request.headers.get('idempotency-key')) || undefined
  const given = { services, actor, idempotencyKey, origin: originOf(request, client) }
  const input = { ...given, ...parseInput(route, { params, query, body }) }
  if (route.isFixed) return await fixedResponse(route, request, () => route.answer(input))
  const result = await route.answer(input).catch((error: unknown) => {
    throw replaceUncertainOutcome(route, error, idempotencyKey)
  })
  return await successResponse(route, result)
}

/** The caller. Undefined on an open route. */
async function actorOf(
  request: Request,
  services: Services,
  { open, method, operation, publicSearch }: Route,
  queryKey: string | null,
  options: RestOptions,
): Promise<Actor | undefined> {
  if (open) return undefined
  // Searches change nothing, whatever their method.
  const fresh = method !== 'GET' && !publicSearch
  const hasKey = request.headers.has('authorization') || queryKey
  const actor =
    publicSearch && options.publicSearch && !hasKey
      ? anonymousActor
      : await authenticate(request.headers.get('authorization'), services, { fresh, queryKey })
  if (operation) authorizeOperation(actor, operation)
  return actor
}
