// Parses the parameters that select bills: filters are JSON in the URL, and instants are seconds since 1970.

import { z } from 'zod'
import { defaultPageSize } from '../../domain/pages.ts'
import { parseBoolean, parseNumber, quoteValue } from '../../domain/values.ts'
import { parseFilters, type RawComparison } from '../filters.ts'
import { isAbsent } from '../json-values.ts'
import { type Complain, isGiven } from '../list-parameters.ts'

const parameter = (about: string) => z.string().optional().describe(about)
export const latestFirstParameter = parameter('Whether the latest come first: true or false. The default is false.')
export const afterTokenParameter = parameter('The next_token of the previous page.')
export const limitParameter = (most: number) =>
  z
    .string()
    .optional()
    .meta({
      type: 'integer',
      description: `The maximum number of results, from 1 to ${most}. The default is ${defaultPageSize}.`,
    })

/** Includes `from` and excludes `to`. An undefined end is open. */
export type OpenPeriod = { from?: Date | undefined; to?: Date | undefined }

/** How a filter compares a column of bills. */
export type BillColumnKind = 'instant' | 'word'
type WordCondition = { name: string; words: string[] }
type BillFilter = { period: OpenPeriod; words: WordCondition[] }

/** Parses conditions on columns that contain instants or words. */
export function parseBillFilter(
  given: unknown,
  fields: Record<string, BillColumnKind>,
  complain: Complain,
): BillFilter {
  const read = ({
    name,
    field,
    operator,
    operand,
  }: RawComparison<BillColumnKind>): OpenPeriod | WordCondition | string | undefined => {
    if (field === 'instant') return parseInstantBound(operator, operand)
    const words = parseWords(operator, operand)
    return typeof words === 'string' ? words : { name, words }
  }
  const found = parseFilters<BillColumnKind, OpenPeriod | WordCondition>(given, { fields, read }, complain)
  return {
    period: found.reduce((all: OpenPeriod, one) => ('words' in one ? all : intersectPeriods(all, one)), {}),
    words: found.flatMap(one => ('words' in one ? [one] : [])),
  }
}

function parseInstantBound(operator: string, operand: unknown): OpenPeriod | string | undefined {
  if (isAbsent(operand)) return undefined
  const ms = parseMs(operand)
  const narrow = boundsByOperator.get(operator)
  if (!narrow) return `does not apply to an instant; use ${[...boundsByOperator.keys()].join(', ')}`
  return ms === undefined ? `must be a number of seconds since 1970, not ${quoteValue(operand)}` : narrow(ms)
}

/**
 * Turns a possibly fractional millisecond into whole ones: `from` is the first that matches, `to` the first that no
 * longer does.
 */
const boundsByOperator = new Map<string, (ms: number) => OpenPeriod>([
  ['gte', ms => ({ from: new Date(Math.ceil(ms)) })],
  ['gt', ms => ({ from: new Date(Math.floor(ms) + 1) })],
  ['lte', ms => ({ to: new Date(Math.floor(ms) + 1) })],
  ['lt', ms => ({ to: new Date(Math.ceil(ms)) })],
  ['eq', ms => ({ from: new Date(Math.ceil(ms)), to: new Date(Math.floor(ms) + 1) })],
])

/** Parses a period from two parameters. The period includes both instants. */
export function parsePeriod(
  given: Record<string, string | undefined>,
  names: [string, string],
  complain: Complain,
): OpenPeriod {
  const [from, to] = names.map((name, index) => {
    const text = given[name]
    const instants = isGiven(text) ? parseInstantBound(index === 0 ? 'gte' : 'lte', text) : {}
    if (typeof instants === 'string') complain(name, instants)
    return typeof instants === 'object' ? instants : {}
  }) as [OpenPeriod, OpenPeriod]
  return intersectPeriods(from, to)
}

const maxMs = Date.UTC(9999, 0)

/** Milliseconds since 1970. Values before or long after all bills are clamped, since they select the same bills. */
function parseMs(operand: unknown): number | undefined {
  const seconds = parseNumber(operand)
  // Rounds off binary noise: 0.123 s must not become 123.00000000000001 ms.
  return seconds === undefined ? undefined : Math.min(Math.max(Math.round(seconds * 1e6) / 1e3, 0), maxMs)
}

export function intersectPeriods(one: OpenPeriod, other: OpenPeriod): OpenPeriod {
  const pick = (instants: (Date | undefined)[], choose: (...ms: number[]) => number) => {
    const known = instants.flatMap(instant => (instant ? [instant.getTime()] : []))
    return known.length > 0 ? new Date(choose(...known)) : undefined
  }
  return { from: pick([one.from, other.from], Math.max), to: pick([one.to, other.to], Math.min) }
}

/** A period that ends before it begins matches nothing, so it is a mistake of the client. */
export function checkPeriod({ from, to }: OpenPeriod, path: string, complain: Complain): void {
  if (from && to && from >= to) complain(path, 'ends before it begins')
}

function parseWords(operator: string, operand: unknown): string[] | string {
  if (operator !== 'in' && operator !== 'eq') return 'does not apply to a word; use eq, in'
  const words = operator === 'in' && Array.isArray(operand) ? operand : [operand]
  return words.every(word => typeof word === 'string') ? words : 'must be a string or, for `in`, a list of strings'
}

export function parseFlag(given: string | undefined, path: string, complain: Complain): boolean {
  const flag = isGiven(given) ? (parseBoolean(given) ?? flagsByDigit[given]) : false
  if (flag === undefined) complain(path, 'must be true or false')
  return flag ?? false
}

const flagsByDigit: Record<string, boolean> = { 0: false, 1: true }
