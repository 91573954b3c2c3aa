// Reads which bills are wanted, as clients write it in a URL: filters as JSON, and instants in seconds since 1970.

import { z } from 'zod'
import { parseBoolean, parseNumber, quoteValue } from '../../domain/offers/filter.ts'
import { defaultPageSize } from '../../domain/pages.ts'
import { type Comparison, parseFilters } from '../filters.ts'
import { type Complain, isAbsent, isGiven } from '../list-parameters.ts'

const parameter = (about: string) => z.string().optional().describe(about)
export const latestFirstParameter = parameter('Whether the latest come first: true or false, which is the default.')
export const afterTokenParameter = parameter('The next_token of the page before.')
export const limitParameter = (most: number) =>
  z
    .string()
    .optional()
    .meta({ type: 'integer', description: `How many at most, up to ${most}; ${defaultPageSize} by default.` })

/** From the first instant on, and up to but not with the last; undefined where it is open. */
export type OpenPeriod = { from?: Date | undefined; to?: Date | undefined }

/** What a column of bills is compared as. */
export type BillColumnKind = 'instant' | 'word'
type WordCondition = { name: string; words: string[] }
type BillFilter = { period: OpenPeriod; words: WordCondition[] }

/** Conditions on columns that are instants, and on columns that are one of some words. */
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
  }: Comparison<BillColumnKind>): OpenPeriod | WordCondition | string | undefined => {
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
  if (!narrow) return `does not apply to an instant; there are ${[...boundsByOperator.keys()].join(', ')}`
  return ms === undefined ? `${quoteValue(operand)} is no number of seconds since 1970` : narrow(ms)
}

/** Of milliseconds that need not be whole: the first whole one at which it holds, and the first at which it does no more. */
const boundsByOperator = new Map<string, (ms: number) => OpenPeriod>([
  ['gte', ms => ({ from: new Date(Math.ceil(ms)) })],
  ['gt', ms => ({ from: new Date(Math.floor(ms) + 1) })],
  ['lte', ms => ({ to: new Date(Math.floor(ms) + 1) })],
  ['lt', ms => ({ to: new Date(Math.ceil(ms)) })],
  ['eq', ms => ({ from: new Date(Math.ceil(ms)), to: new Date(Math.floor(ms) + 1) })],
])

/** The same of a period whose ends stand each in a parameter, and are both in it. */
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

/** Milliseconds since 1970. What is before or long after all bills is as good as the first or the last instant. */
function parseMs(operand: unknown): number | undefined {
  const seconds = parseNumber(operand)
  // Of a fraction of a second as many digits as are meant: 0.123 s are no 123.00000000000001 ms.
  return seconds === undefined ? undefined : Math.min(Math.max(Math.round(seconds * 1e6) / 1e3, 0), maxMs)
}

/** What is in both. */
export function intersectPeriods(one: OpenPeriod, other: OpenPeriod): OpenPeriod {
  const pick = (instants: (Date | undefined)[], choose: (...ms: number[]) => number) => {
    const known = instants.flatMap(instant => (instant ? [instant.getTime()] : []))
    return known.length > 0 ? new Date(choose(...known)) : undefined
  }
  return { from: pick([one.from, other.from], Math.max), to: pick([one.to, other.to], Math.min) }
}

/** Nothing can be found in a period that ends before it begins: who asks for one has made a mistake. */
export function checkPeriod({ from, to }: OpenPeriod, path: string, complain: Complain): void {
  if (from && to && from >= to) complain(path, 'ends before it begins')
}

function parseWords(operator: string, operand: unknown): string[] | string {
  if (operator !== 'in' && operator !== 'eq') return 'does not apply to a word; there are eq, in'
  const words = operator === 'in' && Array.isArray(operand) ? operand : [operand]
  return words.every(word => typeof word === 'string') ? words : 'must be texts'
}

export function parseFlag(given: string | undefined, path: string, complain: Complain): boolean {
  const flag = isGiven(given) ? (parseBoolean(given) ?? flagsByDigit[given]) : false
  if (flag === undefined) complain(path, 'must be true or false')
  return flag ?? false
}

const flagsByDigit: Record<string, boolean> = { 0: false, 1: true }
