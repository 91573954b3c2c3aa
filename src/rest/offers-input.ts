// Reads a search as REST clients write it: an object of filters, {field: {operator: value}}, beside plain keys. Null
// and an empty text mean absent, unknown fields are ignored, and numbers and booleans may come as strings.

import { DomainError, type Issue, invalidInput } from '../domain/errors.ts'
import { parseDriverVersion } from '../domain/machines.ts'
import { isTooDeep, maxLevels } from '../domain/nesting.ts'
import { defaultDiskMb, diskMbOf, maxDiskGb, type RentalType } from '../domain/offers.ts'
import { kindOf, type OfferField } from '../domain/offers-fields.ts'
import {
  type Condition,
  checkFilter,
  holds,
  type Operator,
  readBoolean,
  readCondition,
  readNumber,
} from '../domain/offers-filter.ts'
import type { OrderKey } from '../domain/offers-order.ts'
import type { OfferSearch } from '../services/offers.ts'
import { restFields } from './offers-fields.ts'

export const defaultRows = 64
export const maxRows = 5_000
export const maxColumns = 100
/** Far more than the longest column has: a name is repeated in every row. */
export const maxColumnName = 64

type Search = { search: OfferSearch; limit: number; columns: string[] | undefined }

/**
 * The search in a request, or an error that names everything that is wrong with it. The search is the request itself or
 * stands under q, as an object or as JSON; then q wins over what stands beside it.
 */
export function readSearch(request: Record<string, unknown>): Search {
  const query = readQuery(request['q'])
  if (isTooDeep(request) || isTooDeep(query)) {
    throw new DomainError('INVALID_INPUT', `Invalid query: it has too many levels; at most ${maxLevels} are allowed`)
  }
  const given = new Map([...givenIn(request), ...givenIn(query)])
  const issues: Issue[] = []
  const complain: Complain = (path, message) => void issues.push({ path, message: `${message}.` })
  const conditions = [...given].flatMap(([name, value]) => readField(name, value, complain))
  if (!given.has('rentable')) conditions.push({ field: 'rentable', operator: 'eq', value: true })
  const search = {
    order: readOrder(given.get('order'), complain),
    pricing: {
      type: readType(given.get('type'), complain),
      diskMb: readDisk(given.get('allocated_storage'), complain),
    },
    // Who asks for one offer by its id wants that one, not the one that stands for its bundle.
    bundled: !readUnbundled(given.get('disable_bundling'), complain) && !conditions.some(({ field }) => field === 'id'),
  }
  const limit = readLimit(given.get('limit'), complain)
  const columns = readColumns(given.get('select_cols'), complain)
  return { search: { ...search, filter: checkFilter({ conditions, alternatives: [] }, issues) }, limit, columns }
}

function readQuery(q: unknown): Record<string, unknown> {
  if (isAbsent(q)) return {}
  const query = typeof q === 'string' ? parseJson(q) : q
  if (query === undefined) {
    const message = 'is not JSON; a search is an object of conditions, like {"num_gpus": {"gte": 2}}.'
    throw invalidInput([{ path: 'q', message }])
  }
  if (isAbsent(query)) return {}
  if (!isObject(query)) throw new DomainError('INVALID_INPUT', 'Invalid query: must be dict of conditions')
  return query
}

function givenIn(search: Record<string, unknown>): [string, unknown][] {
  return Object.entries(search).filter(([, value]) => !isAbsent(value))
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type Complain = (path: string, message: string) => void

export const operators = new Map<string, Operator>([
  ['eq', 'eq'],
  ['neq', 'neq'],
  ['gt', 'gt'],
  ['gte', 'gte'],
  ['lt', 'lt'],
  ['lte', 'lte'],
  ['in', 'in'],
  ['notin', 'nin'],
  ['nin', 'nin'],
])
const anything = ['any', '?', '*']

function readField(name: string, value: unknown, complain: Complain): Condition[] {
  const field = Object.hasOwn(restFields, name) ? restFields[name] : undefined
  if (field === undefined) return []
  const comparisons = isObject(value) ? value : { [Array.isArray(value) ? 'in' : 'eq']: value }
  return Object.entries(comparisons).flatMap(([word, operand]) => {
    if (isAbsent(operand) || anything.includes(operand as string)) return []
    const operator = operators.get(word)
    if (!operator) {
      complain(name, `unknown operator "${word}"; there are eq, neq, gt, gte, lt, lte, in, notin`)
      return []
    }
    const condition = readOperand(name, field, operator, operand)
    if (typeof condition === 'object') return [condition]
    complain(`${name}.${word}`, condition)
    return []
  })
}

function readOperand(name: string, field: OfferField, operator: Operator, operand: unknown): Condition | string {
  const written = (value: unknown) => (typeof value === 'string' ? (spellings[name]?.(value) ?? value) : value)
  const condition = readCondition(field, operator, Array.isArray(operand) ? operand.map(written) : written(operand))
  if (typeof condition === 'object' || kindOf(field) !== 'boolean') return condition
  // hosting_type and has_avx are 0 or 1 on the wire, and are compared as numbers.
  const numeric = readCondition('numGpus', operator, operand)
  if (typeof numeric === 'string') return condition
  return { field, operator: 'in', values: [false, true].filter(value => holds(Number(value), numeric)) }
}

/** Values that are written differently on the wire. */
const spellings: Record<string, (value: string) => string | number | undefined> = {
  gpu_name: value => value.replaceAll('_', ' '),
  // "South Korea, KR": the code stands last.
  geolocation: value => value.split(',').at(-1)?.trim(),
  driver_version: parseDriverVersion,
  driver_vers: parseDriverVersion,
}

function readOrder(given: unknown, complain: Complain): OrderKey[] {
  if (given === undefined) return [{ field: 'score', direction: 'desc' }]
  const order = fromUrl(given)
  if (!Array.isArray(order)) {
    complain('order', 'must be a list of [field, "asc" or "desc"]')
    return []
  }
  return order.flatMap(key => {
    const [name, word = 'asc'] = Array.isArray(key) ? key : [key]
    const direction = typeof word === 'string' ? word.toLowerCase() : word
    const field = typeof name === 'string' && Object.hasOwn(restFields, name) ? restFields[name] : undefined
    if (field && kindOf(field) !== 'boolean' && (direction === 'asc' || direction === 'desc'))
      return [{ field, direction }]
    complain('order', `${JSON.stringify(key)} is not a field to order by with "asc" or "desc"`)
    return []
  })
}

const types = new Map<unknown, RentalType>([
  [undefined, 'onDemand'],
  ['ondemand', 'onDemand'],
  ['on-demand', 'onDemand'],
  // A reserved rental is an on-demand one that is paid ahead.
  ['reserved', 'onDemand'],
  ['bid', 'interruptible'],
  ['interruptible', 'interruptible'],
])

function readType(type: unknown, complain: Complain): RentalType {
  const known = types.get(type)
  if (!known) complain('type', `${JSON.stringify(type)} is not one of ondemand, bid, reserved`)
  return known ?? 'onDemand'
}

function readDisk(allocatedStorage: unknown, complain: Complain): number {
  if (allocatedStorage === undefined) return defaultDiskMb
  const diskMb = diskMbOf(readNumber(allocatedStorage) ?? Number.NaN)
  if (diskMb === undefined) complain('allocated_storage', `must be a number of GB from 0 to ${maxDiskGb}`)
  return diskMb ?? defaultDiskMb
}

function readUnbundled(disableBundling: unknown, complain: Complain): boolean {
  if (disableBundling === undefined) return false
  const unbundled = readBoolean(disableBundling)
  if (unbundled === undefined) complain('disable_bundling', 'must be true or false')
  return unbundled ?? false
}

function readLimit(limit: unknown, complain: Complain): number {
  if (limit === undefined) return defaultRows
  const rows = readNumber(limit) ?? Number.NaN
  if (!Number.isInteger(rows) || rows < 1) complain('limit', 'must be a whole number, at least 1')
  return Math.min(rows, maxRows)
}

/** The wanted columns, each once. Undefined is every column, and so is a list with "*". */
function readColumns(given: unknown, complain: Complain): string[] | undefined {
  if (given === undefined) return undefined
  const columns = fromUrl(given)
  if (!Array.isArray(columns) || !columns.every(column => typeof column === 'string')) {
    complain('select_cols', 'must be a list of column names')
    return undefined
  }
  const distinct = [...new Set(columns)]
  if (distinct.length > maxColumns) {
    complain('select_cols', `takes at most ${maxColumns} columns, not ${distinct.length}`)
  }
  if (distinct.some(column => column.length > maxColumnName)) {
    complain('select_cols', `has a name of more than ${maxColumnName} characters`)
  }
  return distinct.includes('*') ? undefined : distinct
}

/** In a URL everything is a text, and lists are JSON. */
function fromUrl(value: unknown): unknown {
  return typeof value === 'string' ? parseJson(value) : value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
