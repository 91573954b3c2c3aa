import type { Logger } from 'pino'
import { DomainError } from '../domain/errors.ts'
import { parseAccept } from './accept.ts'
import type { Client } from './client.ts'
import { jsonResponse } from './json.ts'
import { retryAfterHeaders } from './limits/headers.ts'
import type { Meter } from './limits/meter.ts'
import { pagePoints, probePoints, queryPoints } from './limits/points.ts'

/** Set before a handler runs. Lines of `log` carry the request id; `path` is the path of the URL. */
export type RequestContext = { requestId: string; path: string; log: Logger; client: Client; meter: Meter }
/** The status in the log if the client disconnected before its answer, which is no failure of the gateway. */
export const disconnectedStatus = 499

/** A request whose log has begun. */
export type LoggedRequest = {
  requestId: string
  log: Logger
  client: Client
  meter: Meter
  /** Headers that every answer has. */
  headers: Record<string, string>
  /** The body of the answer to a request that failed unexpectedly. */
  describeFailure(error: unknown): object
  end(path: string | undefined, status: number): void
}
/** `sentId`: the id that the client gave the request. */
export type BeginRequest = (method: string, sentId: string | null | undefined, client: Client) => LoggedRequest
export type Handler = (request: Request, context: RequestContext) => Promise<Response>

type Faces = {
  rest: Handler
  graphql: Handler
  /** What the agents of hosts ask. */
  host: Handler
  graphiql: { page: Handler; file: Handler } | undefined
  /** Undefined unless only operators can reach the port. */
  metrics: (() => Promise<Response>) | undefined
}

/** Chooses the face. Compares whole paths: a path that only ends in /health must not bypass authentication. */
export function createRouter(
  { rest, graphql, host, graphiql, metrics }: Faces,
  findReadinessProblem: () => Promise<string | undefined>,
): Handler {
  const pages: Record<string, (...asked: Parameters<Handler>) => Response | Promise<Response>> = {
    '/health': answerHealth,
    '/ready': () => answerReadiness(findReadinessProblem),
    ...(metrics ? { '/metrics': metrics } : {}),
    ...redirects({ '/docs': '/api/v0/docs/' }),
    ...(graphiql ? redirects({ '/': '/graphql', '/graphiql': '/graphql' }) : {}),
  }
  const pageAt = (path: string) => {
    if (path.startsWith('/graphiql/')) return graphiql?.file
    return Object.hasOwn(pages, path) ? pages[path] : undefined
  }
  return supportHead(
    answerRateLimits(async (request, context) => {
      const { path } = context
      // REST clients join a base and a path with two slashes.
      if (/^\/+api\//.test(path)) return await rest(request, context)
      if (path === '/graphql' || path === '/graphql/') {
        if (!graphiql || !wantsHtml(request)) return await graphql(request, context)
        context.meter.take('address', pagePoints)
        return await graphiql.page(request, context)
      }
      if (path.startsWith('/host/')) return await host(request, context)
      const page = pageAt(path)
      takePoints(context)
      if (!page) return jsonResponse(404, { success: false, error: 'not_found', msg: `There is no ${path} here.` })
      if (request.method === 'GET') return await page(request, context)
      const msg = `${request.method} is not allowed on ${path}. Allowed: GET, HEAD.`
      return jsonResponse(405, { success: false, error: 'method_not_allowed', msg }, { allow: 'GET, HEAD' })
    }),
  )
}

/** Addresses that people try first, each with the page that they mean. */
function redirects(locations: Record<string, string>): Record<string, () => Response> {
  const redirectTo = (location: string) => () => new Response(null, { status: 302, headers: { location } })
  return Object.fromEntries(Object.entries(locations).map(([path, location]) => [path, redirectTo(location)]))
}

/** Pages need no key. What watches the gateway has points of its own, which nothing else uses up. */
function takePoints({ path, meter }: RequestContext): void {
  if (Object.hasOwn(probePoints, path)) meter.take('probes', probePoints[path] ?? 0)
  else meter.take('address', path.startsWith('/graphiql/') ? queryPoints : pagePoints)
}

/** Faces answer their own refusals in their own words. */
function answerRateLimits(handler: Handler): Handler {
  return async (request, context) => {
    try {
      return await handler(request, context)
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'RATE_LIMITED') throw error
      const body = { success: false, error: 'rate_limited', msg: error.message }
      return jsonResponse(429, body, retryAfterHeaders(error.details))
    }
  }
}

/** Answers HEAD like GET, without the body. */
function supportHead(handler: Handler): Handler {
  return async (request, context) => {
    if (request.method !== 'HEAD') return await handler(request, context)
    const { url, headers } = request
    // No client reads the body, which may be an endless stream, so the request is aborted.
    const done = new AbortController()
    const signal = AbortSignal.any([request.signal, done.signal])
    const { status, headers: answered } = await handler(new Request(url, { headers: [...headers], signal }), context)
    done.abort()
    return new Response(null, { status, headers: answered })
  }
}

/** Whether a browser opens the address. The page keeps its query in the URL, so a query does not matter. */
function wantsHtml({ method, headers }: Request): boolean {
  return method === 'GET' && parseAccept(headers.get('accept')).includes('text/html')
}

/** Whether the process lives. Ignores the database: restarting the process would not repair it. */
function answerHealth(): Response {
  return jsonResponse(200, { status: 'ok' })
}

/** Whether this gateway should receive requests. `findProblem` says why not. */
async function answerReadiness(findProblem: () => Promise<string | undefined>): Promise<Response> {
  const problem = await findProblem()
  return problem ? jsonResponse(503, { status: problem }) : jsonResponse(200, { status: 'ready' })
}
