import { authenticate } from '../auth/authenticate.ts'
import { type Actor, anonymousActor } from '../domain/actor.ts'
import { readBody } from '../http/body.ts'
import type { Meter } from '../http/limits/meter.ts'
import { pagePoints, queryPoints } from '../http/limits/points.ts'
import { nameRequest } from '../http/metrics/request-span.ts'
import type { Handler, RequestContext } from '../http/router.ts'
import { authorizeOperation } from '../services/authorize.ts'
import { translateDatabaseError } from '../services/database-errors.ts'
import { createStaleScope } from '../services/reads/stale.ts'
import type { Services } from '../services/services.ts'
import { errorResponse, failureResponse, replaceUncertainOutcome } from './errors.ts'
import { parseBody, parseInput } from './input.ts'
import { isImplemented } from './not-implemented.ts'
import { findRoutes, originOf } from './paths.ts'
import { countRows, isChange, pointsOf, pointsOfRows } from './points.ts'
import { fixedAsset, fixedResponse, successResponse } from './responses.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'
import { findAlternative } from './unserved.ts'

/** `publicSearch`: whether searches need no key. */
type RestOptions = { publicSearch: boolean }

/** Answers every request under /api/. Every failure is JSON of one shape. */
export function createRestFace(services: Services, options: RestOptions): Handler {
  return async (request, context) => {
    try {
      return await answer(request, context, services, options)
    } catch (error) {
      const known = errorResponse(translateDatabaseError(error))
      if (known) return known
      const { requestId, log } = context
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

async function answer(
  request: Request,
  { client, meter }: RequestContext,
  services: Services,
  options: RestOptions,
): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url)
  const { routes: atPath, params } = findRoutes(routes, pathname)
  const route = atPath.find(({ method }) => method === request.method)
  if (!route) {
    meter.take('address', pagePoints)
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
  nameRequest(request.method, route.path)
  // A caller without permission is refused before the body is read.
  const actor = await actorOf(request, services, route, query.get('api_key'), options, meter)
  const body = request.method === 'GET' ? {} : parseBody(await readBody(request))
  const idempotencyKey = (route.takesIdempotencyKey && request.headers.get('idempotency-key')) || undefined
  const given = { services, actor, idempotencyKey, origin: originOf(request, client) }
  const parsed = parseInput(route, { params, query, body })
  const input = { ...given, ...parsed }
  if (route.isFixed) return await fixedResponse(route, request, () => route.answer(input))
  const rows = route.maxRows?.(parsed) ?? 0
  meter.take(actor ?? 'address', pointsOf(route, parsed) + pointsOfRows(rows))
  const { run, stalenessMs } = createStaleScope()
  const answering = route.mayBeStale ? run(() => route.answer(input)) : route.answer(input)
  const result = await answering.catch((error: unknown) => {
    meter.settle(-pointsOfRows(rows))
    throw replaceUncertainOutcome(route, error, idempotencyKey)
  })
  meter.settle(pointsOfRows(countRows(result) - rows))
  return withAge(await successResponse(route, result), stalenessMs())
}

function withAge(response: Response, stalenessMs: number | undefined): Response {
  if (stalenessMs !== undefined) response.headers.set('age', String(Math.ceil(stalenessMs / 1_000)))
  return response
}

/** The caller. Undefined on an open route. */
async function actorOf(
  request: Request,
  services: Services,
  route: Route,
  queryKey: string | null,
  options: RestOptions,
  meter: Meter,
): Promise<Actor | undefined> {
  const { open, operation, publicSearch } = route
  if (open) {
    meter.take('address', queryPoints)
    return undefined
  }
  const hasKey = request.headers.has('authorization') || queryKey
  const isAnonymous = publicSearch && options.publicSearch && !hasKey
  if (isAnonymous) meter.takeRequest(anonymousActor)
  const how = { fresh: isChange(route), queryKey, meter }
  const actor = isAnonymous ? anonymousActor : await authenticate(request.headers.get('authorization'), services, how)
  if (operation) authorizeOperation(actor, operation)
  return actor
}
