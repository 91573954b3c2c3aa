// Parses what list routes share: JSON in URL parameters, the limit, and the selected columns.

import type { z } from 'zod'
import { type Issue, invalidInput } from '../domain/errors.ts'
import { isTooDeep } from '../domain/nesting.ts'
import { parseNumber, quoteValue } from '../domain/values.ts'
import { isAbsent, parseJson } from './json-values.ts'

/** Limit on the selected columns: more than any list has. */
export const maxColumns = 100
/** Every row repeats the unknown names, so they must be few and short. */
export const maxUnknownColumns = 10
const columnNamePattern = /^\w{1,64}$/

export type Complain = (path: string, message: string) => void

export function complainInto(issues: Issue[]): Complain {
  return (path, message) => void issues.push({ path, message: `${message}.` })
}

/** Runs a parser, and throws one error that lists every issue. */
export function collectIssues<Parsed>(read: (complain: Complain) => Parsed): Parsed {
  const issues: Issue[] = []
  const parsed = read(complainInto(issues))
  if (issues.length > 0) throw invalidInput(issues)
  return parsed
}

/** Clients write "null" in a URL for an absent value. */
export function isGiven<Value>(value: Value): value is NonNullable<Value> {
  return !isAbsent(value) && value !== 'null'
}

/** Parses a URL parameter, which is JSON in a string. Undefined if it is not JSON or nested too deeply. */
export function parseUrlValue(value: unknown): unknown {
  const read = typeof value === 'string' ? parseJson(value) : value
  return isTooDeep(read) ? undefined : read
}

/**
 * The selected columns without duplicates. Undefined means every column, and so does a list with "*". Unknown columns
 * are allowed, since clients may know newer columns: they get null.
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
  if (invalid !== undefined) complain('select_cols', `${quoteValue(invalid)} is not a valid column name`)
  if (unknown.length > maxUnknownColumns) {
    const first = unknown.slice(0, 3).map(quoteValue).join(', ')
    complain('select_cols', `takes at most ${maxUnknownColumns} unknown columns, not ${unknown.length}: ${first}, …`)
  }
  return distinct
}

export type LimitRules = {
  /** The limit when the client gives none. */
  fallback: number
  maximum: number
  /** The limit when the client gives 0 or less. If undefined, such a limit is refused. */
  belowOne?: number
}

export function parseLimit(given: unknown, { fallback, maximum, belowOne }: LimitRules, complain: Complain): number {
  if (!isGiven(given)) return fallback
  const limit = parseNumber(given) ?? Number.NaN
  const isUnderstood = Number.isInteger(limit) && (limit >= 1 || belowOne !== undefined)
  if (!isUnderstood) complain('limit', `must be a whole number${belowOne === undefined ? ', at least 1' : ''}`)
  return limit < 1 ? (belowOne ?? 1) : Math.min(limit, maximum)
}

/** The selected columns of a row. A column that does not exist is null. `Selected` is the output of the row's columns schema. */
export function selectColumns<Row extends object, Selected>(row: Row, columns: string[] | undefined): Row | Selected {
  if (!columns) return row
  const values = new Map<string, unknown>(Object.entries(row))
  const selected = columns.map(column => [column, values.has(column) ? values.get(column) : null])
  // The cast is safe: each columns schema has the columns of its row, all optional, and null for any other name.
  return Object.fromEntries(selected) as Selected
}
