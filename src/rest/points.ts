// What a request takes of the caller's points, besides what every request takes.

import { changePoints, rowPoints } from '../http/limits/points.ts'
import type { Route } from './route.ts'

type Parsed = Parameters<NonNullable<Route['changes']>>[0]

export function pointsOf(route: Route, input: Parsed): number {
  return changePoints * (route.changes?.(input) ?? (isChange(route) ? 1 : 0))
}

export function pointsOfRows(rows: number): number {
  return rows * rowPoints
}

/** The items in the lists of an answer. */
export function countRows(result: unknown): number {
  const lists = Array.isArray(result) ? [result] : Object.values(Object(result))
  return lists.reduce((count: number, list: unknown) => count + (Array.isArray(list) ? countItems(list) : 0), 0)
}

/** A list of names or numbers costs next to nothing. */
function countItems(list: readonly unknown[]): number {
  return typeof list[0] === 'object' ? list.length : 0
}

/** Searches change nothing, whatever their method. */
export function isChange({ method, publicSearch }: Route): boolean {
  return method !== 'GET' && !publicSearch
}
