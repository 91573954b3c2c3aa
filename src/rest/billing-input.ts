// Reads which bills are wanted, as clients write it in a URL: filters as JSON, and instants in seconds since 1970.

import { z } from 'zod'
import { type Issue, invalidInput } from '../domain/errors.ts'
import { readBoolean, readNumber, show } from '../domain/offers-filter.ts'
import { defaultPageSize } from '../domain/pages.ts'
import { type Complain, fromUrl, isAbsent, isObject } from './columns.ts'

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

/** Reads a request with everything that is wrong with it told at once. */
export function reading<Wish>(read: (complain: Complain) => Wish): Wish {
  const issues: Issue[] = []
  const wish = read((path, message) => void issues.push({ path, message: `${message}.` }))
  if (issues.length > 0) throw invalidInput(issues)
  return wish
}

type Filters = { instants: Instants; words: Map<string, string[]> }

/** Conditions on columns that are instants, and on columns that are one of some words. Null is as good as nothing. */
export function readFilters(
  given: string | undefined,
  { times, words }: { times: readonly string[]; words: readonly string[] },
  complain: Complain,
): Filters {
  const filters = isGiven(given) ? (fromUrl(given) ?? given) : {}
  const found: Filters = { instants: {}, words: new Map() }
  if (!isObject(filters)) {
    complain('select_filters', `must be an object of conditions, like {"${times[0]}": {"gte": 1700000000}}`)
    return found
  }
  for (const [name, value] of Object.entries(filters).filter(([, value]) => value !== null)) {
    const path = `select_filters.${name}`.slice(0, 100).toWellFormed()
    const comparisons = comparisonsOf(value)
    if (times.includes(name)) found.instants = within(found.instants, readInstants(comparisons, path, complain))
    else if (words.includes(name)) found.words.set(name, readWords(comparisons, path, complain))
    else complain(path, `is no column to filter by; there are ${[...times, ...words].join(', ')}`)
  }
  return found
}

/** Clients leave out the operator where it is plain. */
function comparisonsOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : { [Array.isArray(value) ? 'in' : 'eq']: value }
}

function readInstants(comparisons: Record<string, unknown>, path: string, complain: Complain): Instants {
  let instants: Instants = {}
  for (const [word, operand] of Object.entries(comparisons)) {
    if (isAbsent(operand)) continue
    const narrow = bounds.get(word)
    const ms = msOf(operand)
    if (!narrow) complain(path, `has no operator "${word.slice(0, 60)}"; there are ${[...bounds.keys()].join(', ')}`)
    else if (ms === undefined) complain(`${path}.${word}`, `${show(operand)} is no number of seconds since 1970`)
    else instants = within(instants, narrow(ms))
  }
  return instants
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
    const operand = isGiven(text) ? text : undefined
    return readInstants({ [index === 0 ? 'gte' : 'lte']: operand }, name, (_path, message) => complain(name, message))
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

function readWords(comparisons: Record<string, unknown>, path: string, complain: Complain): string[] {
  return Object.entries(comparisons).flatMap(([word, operand]) => {
    const operands = word === 'in' && Array.isArray(operand) ? operand : [operand]
    if (word !== 'in' && word !== 'eq') complain(path, `has no operator "${word.slice(0, 60)}"; there are eq, in`)
    else if (!operands.every(one => typeof one === 'string')) complain(`${path}.${word}`, 'must be texts')
    else return operands
    return []
  })
}

export function readLimit(given: string | undefined, most: number, complain: Complain): number {
  const limit = isGiven(given) ? (readNumber(given) ?? Number.NaN) : defaultPageSize
  if (!Number.isInteger(limit) || limit < 1) complain('limit', 'must be a whole number, at least 1')
  return Math.min(limit, most)
}

export function readFlag(given: string | undefined, path: string, complain: Complain): boolean {
  const flag = isGiven(given) ? (readBoolean(given) ?? digits[given]) : false
  if (flag === undefined) complain(path, 'must be true or false')
  return flag ?? false
}

const digits: Record<string, boolean> = { 0: false, 1: true }

/** Clients write "null" for what they leave out. */
export function isGiven(text: string | undefined): text is string {
  return !isAbsent(text) && text !== 'null'
}
