import type { Route } from './route.ts'
import { findAlternative } from './unserved.ts'

/** The routes at a path, one per method, and the values of the path's parameters. */
export function findRoutes(routes: Route[], pathname: string): { routes: Route[]; params: Record<string, string> } {
  const matches = routes.flatMap(route => {
    const params = matchPath(route.path, pathname)
    return params ? [{ route, params }] : []
  })
  // What is written out wins over a parameter: /instances/filters/ is not the instance "filters".
  const fewest = Math.min(...matches.map(({ params }) => Object.keys(params).length))
  const best = matches.filter(({ params }) => Object.keys(params).length === fewest)
  const isReserved =
    findAlternative(pathname) !== undefined || best.some(({ route }) => hasReservedWord(routes, route.path, pathname))
  if (isReserved) return { routes: [], params: {} }
  return { routes: best.map(({ route }) => route), params: best[0]?.params ?? {} }
}

/** Whether a word stands in the place of an id with which another path goes on, as in /instances/reboot/. */
function hasReservedWord(routes: Route[], pattern: string, pathname: string): boolean {
  const given = segmentsOf(pathname)
  return segmentsOf(pattern).some((segment, index) => {
    if (!segment.startsWith('{')) return false
    const start = given.slice(0, index + 1)
    return routes.some(({ path }) => {
      const words = segmentsOf(path).slice(0, index + 1)
      return words.length > index && words.every((word, place) => word === start[place])
    })
  })
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
    const value = given[index] ?? ''
    const [, name] = /^\{(\w+)\}$/.exec(segment) ?? []
    if (name !== undefined && value !== '') params[name] = decodeSegment(value)
    else if (segment !== value) return undefined
  }
  return params
}

/** Clients write paths with and without the last slash, or with two, and would lose the body or the key in a redirect. */
function segmentsOf(path: string): string[] {
  // An id that is missing at the end must not make a path that of the list.
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
