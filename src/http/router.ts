import type { Handler } from './context.ts'
import { health, readiness } from './health.ts'
import { json } from './json.ts'

export type Faces = { rest: Handler; graphql: Handler; graphiql: Handler | undefined }

/** Which face answers. Paths are compared whole: a probe's path at the end of another must not get past the keys. */
export function createRouter(
  { rest, graphql, graphiql }: Faces,
  whyNotReady: () => Promise<string | undefined>,
): Handler {
  return async (request, context) => {
    const { path } = context
    if (path.startsWith('/api/')) return await rest(request, context)
    switch (path) {
      case '/graphql':
      case '/graphql/':
        return await (graphiql && wantsPage(request) ? graphiql : graphql)(request, context)
      case '/health':
        return health()
      case '/ready':
        return await readiness(whyNotReady)
      case '/':
        if (graphiql) return new Response(null, { status: 302, headers: { location: '/graphql' } })
    }
    return json(404, { success: false, error: 'not_found', msg: `There is no ${path} here.` })
  }
}

/** A browser that opens the address. The page keeps its query in the URL, to be reloaded and passed on. */
function wantsPage({ method, headers }: Request): boolean {
  return method === 'GET' && (headers.get('accept')?.includes('text/html') ?? false)
}
