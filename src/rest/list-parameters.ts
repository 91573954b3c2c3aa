// What lists in a URL have in common: JSON in texts, how much of a list is wanted, and which columns of its rows.

import type { z } from 'zod'
import { type Issue, invalidInput } from '../domain/errors.ts'
import { isTooDeep } from '../domain/nesting.ts'
import { parseNumber, quoteValue } from '../domain/offers/filter.ts'

/** More than any list has. */
export const maxColumns = 100
/** Every row repeats the names that it does not have, so they are few and short. */
export const maxUnknownColumns = 10
const columnNamePattern = /^\w{1,64}$/

export type Complain = (path: string, message: string) => void

export function complainInto(issues: Issue[]): Complain {
  return (path, message) => void issues.push({ path, message: `${message}.` })
}

/** Reads a request with everything that is wrong with it told at once. */
export function collectIssues<Wish>(read: (complain: Complain) => Wish): Wish {
  const issues: Issue[] = []
  const wish = read(complainInto(issues))
  if (issues.length > 0) throw invalidInput(issues)
  return wish
}

export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}

/** Clients write "null" in a URL for what they leave out. */
export function isGiven<Value>(value: Value): value is NonNullable<Value> {
  return !isAbsent(value) && value !== 'null'
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** In a URL everything is a text, and lists are JSON. Undefined is what nobody means. */
export function parseUrlValue(value: unknown): unknown {
  const read = typeof value === 'string' ? parseJson(value) : value
  return isTooDeep(read) ? undefined : read
}

/**
 * The selected columns of a list that has the `known` ones, each once. Undefined is every column, and so is a list with "*".
 * Clients that know newer columns than Berth get null for those.
 */
export function parseColumns(given: unknown, known: z.ZodObject, complain: Complain): string[] | undefined {
  if (!isGiven(given)) return undefined
  const columns = parseUrlValue(given)
  if (!Array.isArray(columns) || !columns.every(column => typeof column === 'string')) {
    complain('select_cols', 'must be a list of column names')
    return undefined
  }
  const distinct = [...new Set(columns)]
  if (distinct.length > maxColumns) {
    complain('select_cols', `takes at most ${maxColumns} columns, not ${distinct.length}`)
  }
  if (distinct.includes('*')) return undefined
  const unknown = distinct.filter(column => !Object.hasOwn(known.shape, column))
  const invalid = unknown.find(column => !columnNamePattern.test(column))
  if (invalid !== undefined) complain('select_cols', `${quoteValue(invalid)} is not the name of a column`)
  if (unknown.length > maxUnknownColumns) {
    const first = unknown.slice(0, 3).map(quoteValue).join(', ')
    complain('select_cols', `takes at most ${maxUnknownColumns} unknown columns, not ${unknown.length}: ${first}, …`)
  }
  return distinct
}

export type LimitRules = {
  /** How many there are where nothing is said. */
  fallback: number
  maximum: number
  /** What nothing or less means; else it is refused. */
  few?: number
}

export function parseLimit(given: unknown, { fallback, maximum, few }: LimitRules, complain: Complain): number {
  if (!isGiven(given)) return fallback
  const limit = parseNumber(given) ?? Number.NaN
  const isUnderstood = Number.isInteger(limit) && (limit >= 1 || few !== undefined)
  if (!isUnderstood) complain('limit', `must be a whole number${few === undefined ? ', at least 1' : ''}`)
  return limit < 1 ? (few ?? 1) : Math.min(limit, maximum)
}

/** The selected columns. Null stands for one that does not exist. */
export function selectColumns<Row extends object, Selected>(row: Row, columns: string[] | undefined): Row | Selected {
  if (!columns) return row
  const values = new Map<string, unknown>(Object.entries(row))
  const selected = columns.map(column => [column, values.has(column) ? values.get(column) : null])
  return Object.fromEntries(selected) as Selected
}
