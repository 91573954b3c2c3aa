import { parseAccept } from './accept.ts'
import type { Handler } from './context.ts'
import { answerHealth, answerReadiness } from './health.ts'
import { jsonResponse } from './json.ts'

type Faces = {
  rest: Handler
  graphql: Handler
  graphiql: { page: Handler; file: Handler } | undefined
  /** Only where operators alone may ask. */
  metrics: (() => Promise<Response>) | undefined
}

/** Which face answers. Paths are compared whole: a probe's path at the end of another must not get past the keys. */
export function createRouter(
  { rest, graphql, graphiql, metrics }: Faces,
  findReadinessProblem: () => Promise<string | undefined>,
): Handler {
  const pages: Record<string, (...asked: Parameters<Handler>) => Response | Promise<Response>> = {
    '/health': answerHealth,
    '/ready': () => answerReadiness(findReadinessProblem),
    ...(metrics ? { '/metrics': metrics } : {}),
    ...(graphiql ? { '/': () => new Response(null, { status: 302, headers: { location: '/graphql' } }) } : {}),
  }
  const pageAt = (path: string) => {
    if (path.startsWith('/graphiql/')) return graphiql?.file
    return Object.hasOwn(pages, path) ? pages[path] : undefined
  }
  return supportHead(async (request, context) => {
    const { path } = context
    // Clients of the REST face join a base and a path with two slashes.
    if (/^\/+api\//.test(path)) return await rest(request, context)
    if (path === '/graphql' || path === '/graphql/')
      return await (graphiql && wantsHtml(request) ? graphiql.page : graphql)(request, context)
    const page = pageAt(path)
    if (!page) return jsonResponse(404, { success: false, error: 'not_found', msg: `There is no ${path} here.` })
    if (request.method === 'GET') return await page(request, context)
    const msg = `${request.method} does not work on ${path}; GET, HEAD does.`
    return jsonResponse(405, { success: false, error: 'method_not_allowed', msg }, { allow: 'GET, HEAD' })
  })
}

/** HEAD is GET without the body, wherever there is a GET. */
function supportHead(handler: Handler): Handler {
  return async (request, context) => {
    if (request.method !== 'HEAD') return await handler(request, context)
    const { url, headers } = request
    // Nobody reads the body, which might be a stream without an end.
    const done = new AbortController()
    const signal = AbortSignal.any([request.signal, done.signal])
    const { status, headers: answered } = await handler(new Request(url, { headers: [...headers], signal }), context)
    done.abort()
    return new Response(null, { status, headers: answered })
  }
}

/** A browser that opens the address. The page keeps its query in the URL, to be reloaded and passed on. */
function wantsHtml({ method, headers }: Request): boolean {
  return method === 'GET' && parseAccept(headers.get('accept')).includes('text/html')
}
