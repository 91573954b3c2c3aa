import type { Route } from './route.ts'
import { findAlternative } from './unserved.ts'

/** The routes at a path, one per method, and the values of the path's parameters. */
export function findRoutes(routes: Route[], pathname: string): { routes: Route[]; params: Record<string, string> } {
  const matches = routes.flatMap(route => {
    const params = matchPath(route.path, pathname)
    return params ? [{ route, params }] : []
  })
  // A literal segment wins over a parameter: /instances/filters/ is not the instance "filters".
  const fewest = Math.min(...matches.map(({ params }) => Object.keys(params).length))
  const best = matches.filter(({ params }) => Object.keys(params).length === fewest)
  const isReserved =
    findAlternative(pathname) !== undefined || best.some(({ route }) => hasReservedWord(routes, route.path, pathname))
  if (isReserved) return { routes: [], params: {} }
  return { routes: best.map(({ route }) => route), params: best[0]?.params ?? {} }
}

/**
 * Whether the place of an id holds a literal segment of another route: /instances/reboot/ is the start of
 * /instances/reboot/{id}/, so "reboot" is no id.
 */
function hasReservedWord(routes: Route[], pattern: string, pathname: string): boolean {
  const startOf = (path: string, length: number) => segmentsOf(path).slice(0, length).join('/')
  return segmentsOf(pattern).some((segment, index) => {
    if (!segment.startsWith('{')) return false
    const start = startOf(pathname, index + 1)
    return routes.some(({ path }) => startOf(path, index + 1) === start)
  })
}

/**
 * The origin that the client used. A TLS proxy in front of the gateway sets x-forwarded-proto. A client can forge the
 * header, but only that client sees the result.
 */
export function originOf({ url, headers }: Request): string {
  const { origin, host } = new URL(url)
  return headers.get('x-forwarded-proto') === 'https' ? `https://${host}` : origin
}

function matchPath(pattern: string, pathname: string): Record<string, string> | undefined {
  const [expected, given] = [segmentsOf(pattern), segmentsOf(pathname)]
  if (expected.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, segment] of expected.entries()) {
    const value = given[index] ?? ''
    const [, name] = /^\{(\w+)\}$/.exec(segment) ?? []
    if (name !== undefined && value !== '') params[name] = decodeSegment(value)
    else if (segment !== value) return undefined
  }
  return params
}

/**
 * A path may end with one slash or none, and slashes elsewhere may be doubled. Two at the end mean that the last id is
 * missing (/instances//), so they match nothing. No redirect corrects a path: it would lose the body or the key.
 */
function segmentsOf(path: string): string[] {
  const [, whole = path, missing = ''] = /^(.*?)(\/\/+)?$/.exec(path) ?? []
  return [...whole.split('/').filter(segment => segment !== ''), ...(missing ? [''] : [])]
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
