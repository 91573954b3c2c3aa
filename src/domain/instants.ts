import type { Issue } from './errors.ts'

/** Conditions on an instant. All given conditions must hold. */
export type InstantFilter = Partial<Record<'gt' | 'gte' | 'lt' | 'lte', Date | undefined>>

/** The issue of a filter that no instant matches, which is a mistake of the caller. */
export function instantFilterIssues({ gt, gte, lt, lte }: InstantFilter, path: string): Issue[] {
  // Instants are whole milliseconds.
  const first = Math.max(gte?.getTime() ?? -Infinity, gt ? gt.getTime() + 1 : -Infinity)
  const last = Math.min(lte?.getTime() ?? Infinity, lt ? lt.getTime() - 1 : Infinity)
  return first <= last ? [] : [{ path, message: 'matches no time: it must end later than it starts.' }]
}
