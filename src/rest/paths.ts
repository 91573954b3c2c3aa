import type { Client } from '../http/client.ts'
import type { Route } from './route.ts'
import { findAlternative } from './unserved.ts'

/** The routes at a path, one per method, and the values of the path's parameters. */
export function findRoutes(routes: Route[], pathname: string): { routes: Route[]; params: Record<string, string> } {
  const { patterns, starts } = tableOf(routes)
  const given = segmentsOf(pathname)
  const matches = (patterns.get(given.length) ?? []).flatMap(({ route, segments }) => {
    const params = matchSegments(segments, given)
    return params ? [{ route, segments, params }] : []
  })
  // A literal segment wins over a parameter: /instances/filters/ is not the instance "filters".
  const fewest = Math.min(...matches.map(({ params }) => Object.keys(params).length))
  const best = matches.filter(({ params }) => Object.keys(params).length === fewest)
  const isReserved =
    findAlternative(pathname) !== undefined || best.some(({ segments }) => hasReservedWord(starts, segments, given))
  if (isReserved) return { routes: [], params: {} }
  return { routes: best.map(({ route }) => route), params: best[0]?.params ?? {} }
}

type Table = {
  /** The routes' paths, by their number of segments. */
  patterns: Map<number, { route: Route; segments: string[] }[]>
  /** What the routes' paths start with. */
  starts: Set<string>
}

const tables = new WeakMap<Route[], Table>()

/** Takes the paths of the routes apart, once. */
function tableOf(routes: Route[]): Table {
  const known = tables.get(routes)
  if (known) return known
  const taken = routes.map(route => ({ route, segments: segmentsOf(route.path) }))
  const starts = taken.flatMap(({ segments }) => segments.map((_, index) => startOf(segments, index)))
  const table = { patterns: Map.groupBy(taken, ({ segments }) => segments.length), starts: new Set(starts) }
  tables.set(routes, table)
  return table
}

function startOf(segments: string[], index: number): string {
  return segments.slice(0, index + 1).join('/')
}

/**
 * Whether the place of an id holds a literal segment of another route: /instances/reboot/ is the start of
 * /instances/reboot/{id}/, so "reboot" is no id.
 */
function hasReservedWord(starts: Set<string>, pattern: string[], given: string[]): boolean {
  return pattern.some((segment, index) => segment.startsWith('{') && starts.has(startOf(given, index)))
}

/** The origin that the client used. A trusted proxy in front of the gateway says where it differs from that of the request. */
export function originOf({ url }: Request, { protocol, host }: Client): string {
  const asked = new URL(url)
  return `${protocol ?? asked.protocol.replace(/:$/, '')}://${host ?? asked.host}`
}

function matchSegments(expected: string[], given: string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [index, segment] of expected.entries()) {
    const value = given[index] ?? ''
    if (segment.startsWith('{') && value !== '') params[segment.slice(1, -1)] = decodeSegment(value)
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
