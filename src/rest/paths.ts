import type { Route } from './route.ts'

/** The routes at a path, one per method, and the values of the path's parameters. */
export function findRoutes(routes: Route[], pathname: string): { routes: Route[]; params: Record<string, string> } {
  const matches = routes.flatMap(route => {
    const params = matchPath(route.path, pathname)
    return params ? [{ route, params }] : []
  })
  // What is written out wins over a parameter: /instances/filters/ is not the instance "filters".
  const fewest = Math.min(...matches.map(({ params }) => Object.keys(params).length))
  const best = matches.filter(({ params }) => Object.keys(params).length === fewest)
  return { routes: best.map(({ route }) => route), params: best[0]?.params ?? {} }
}

/** Where the client reached this gateway. A proxy in front that speaks TLS says so; nobody but the client reads it. */
export function originOf({ url, headers }: Request): string {
  const { origin, host } = new URL(url)
  return headers.get('x-forwarded-proto') === 'https' ? `https://${host}` : origin
}

function matchPath(pattern: string, pathname: string): Record<string, string> | undefined {
  const [expected, given] = [segmentsOf(pattern), segmentsOf(pathname)]
  if (expected.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, segment] of expected.entries()) {
    const value = given[index] as string
    const [, name] = /^\{(\w+)\}$/.exec(segment) ?? []
    if (name !== undefined && value !== '') params[name] = decode(value)
    else if (segment !== value) return undefined
  }
  return params
}

/** Clients write paths with and without the last slash, and would lose the body or the key in a redirect. */
function segmentsOf(path: string): string[] {
  return path.replace(/\/$/, '').split('/')
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
