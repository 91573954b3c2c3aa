// Reads which bills are wanted, as clients write it in a URL: filters as JSON, and instants in seconds since 1970.

import { z } from 'zod'
import { readBoolean, readNumber, show } from '../../domain/offers/filter.ts'
import { defaultPageSize } from '../../domain/pages.ts'
import { type Complain, isAbsent, isGiven } from '../columns.ts'
import { type Comparison, readFilters } from '../filters.ts'

const parameter = (about: string) => z.string().optional().describe(about)
export const latestFirst = parameter('Whether the latest come first: true or false, which is the default.')
export const afterToken = parameter('The next_token of the page before.')
export const pageLimit = (most: number) =>
  z
    .string()
    .optional()
    .meta({ type: 'integer', description: `How many at most, up to ${most}; ${defaultPageSize} by default.` })

/** From the first instant on, and up to but not with the last; undefined where it is open. */
export type Instants = { from?: Date | undefined; to?: Date | undefined }

/** What a column of bills is compared as. */
export type BillField = 'instant' | 'word'
type Words = { name: string; words: string[] }
type Bills = { instants: Instants; words: Words[] }

/** Conditions on columns that are instants, and on columns that are one of some words. */
export function readBills(given: unknown, fields: Record<string, BillField>, complain: Complain): Bills {
  const read = ({ name, field, operator, operand }: Comparison<BillField>): Instants | Words | string | undefined => {
    if (field === 'instant') return readInstant(operator, operand)
    const words = readWords(operator, operand)
    return typeof words === 'string' ? words : { name, words }
  }
  const found = readFilters<BillField, Instants | Words>(given, { fields, read }, complain)
  return {
    instants: found.reduce((all: Instants, one) => ('words' in one ? all : within(all, one)), {}),
    words: found.flatMap(one => ('words' in one ? [one] : [])),
  }
}

function readInstant(operator: string, operand: unknown): Instants | string | undefined {
  if (isAbsent(operand)) return undefined
  const ms = msOf(operand)
  const narrow = bounds.get(operator)
  if (!narrow) return `does not apply to an instant; there are ${[...bounds.keys()].join(', ')}`
  return ms === undefined ? `${show(operand)} is no number of seconds since 1970` : narrow(ms)
}

/** Of milliseconds that need not be whole: the first whole one at which it holds, and the first at which it does no more. */
const bounds = new Map<string, (ms: number) => Instants>([
  ['gte', ms => ({ from: new Date(Math.ceil(ms)) })],
  ['gt', ms => ({ from: new Date(Math.floor(ms) + 1) })],
  ['lte', ms => ({ to: new Date(Math.floor(ms) + 1) })],
  ['lt', ms => ({ to: new Date(Math.ceil(ms)) })],
  ['eq', ms => ({ from: new Date(Math.ceil(ms)), to: new Date(Math.floor(ms) + 1) })],
])

/** The same of a period whose ends stand each in a parameter, and are both in it. */
export function readPeriod(
  given: Record<string, string | undefined>,
  names: [string, string],
  complain: Complain,
): Instants {
  const [from, to] = names.map((name, index) => {
    const text = given[name]
    const instants = isGiven(text) ? readInstant(index === 0 ? 'gte' : 'lte', text) : {}
    if (typeof instants === 'string') complain(name, instants)
    return typeof instants === 'object' ? instants : {}
  }) as [Instants, Instants]
  return within(from, to)
}

const lastMs = Date.UTC(9999, 0)

/** Milliseconds since 1970. What is before or long after all bills is as good as the first or the last instant. */
function msOf(operand: unknown): number | undefined {
  const seconds = readNumber(operand)
  // Of a fraction of a second as many digits as are meant: 0.123 s are no 123.00000000000001 ms.
  return seconds === undefined ? undefined : Math.min(Math.max(Math.round(seconds * 1e6) / 1e3, 0), lastMs)
}

/** What is in both. */
export function within(one: Instants, other: Instants): Instants {
  const pick = (instants: (Date | undefined)[], choose: (...ms: number[]) => number) => {
    const known = instants.flatMap(instant => (instant ? [instant.getTime()] : []))
    return known.length > 0 ? new Date(choose(...known)) : undefined
  }
  return { from: pick([one.from, other.from], Math.max), to: pick([one.to, other.to], Math.min) }
}

/** Nothing can be found in a period that ends before it begins: who asks for one has made a mistake. */
export function checkInstants({ from, to }: Instants, path: string, complain: Complain): void {
  if (from && to && from >= to) complain(path, 'ends before it begins')
}

function readWords(operator: string, operand: unknown): string[] | string {
  if (operator !== 'in' && operator !== 'eq') return 'does not apply to a word; there are eq, in'
  const words = operator === 'in' && Array.isArray(operand) ? operand : [operand]
  return words.every(word => typeof word === 'string') ? words : 'must be texts'
}

export function readFlag(given: string | undefined, path: string, complain: Complain): boolean {
  const flag = isGiven(given) ? (readBoolean(given) ?? digits[given]) : false
  if (flag === undefined) complain(path, 'must be true or false')
  return flag ?? false
}

const digits: Record<string, boolean> = { 0: false, 1: true }
