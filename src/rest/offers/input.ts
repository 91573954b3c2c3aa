// Parses a search as REST clients write it: filters as {field: {operator: value}}, mixed with plain keys. Null and "" count
// as absent, unknown fields are ignored, and numbers and booleans may be strings.

import { DomainError, type Issue, invalidInput } from '../../domain/errors.ts'
import { parseDriverVersion } from '../../domain/machines/versions.ts'
import { isTooDeep, maxNestingLevels } from '../../domain/nesting.ts'
import { fieldTypeOf, type OfferField } from '../../domain/offers/fields.ts'
import { type Condition, checkFilter, meetsCondition, parseCondition } from '../../domain/offers/filter.ts'
import { defaultDiskMb, diskMbOf, maxDiskGb, type RentalKind } from '../../domain/offers/offers.ts'
import type { OrderKey } from '../../domain/offers/order.ts'
import { parseBoolean, parseNumber, quoteValue } from '../../domain/values.ts'
import type { OfferSearch } from '../../services/offers/offers.ts'
import { parseFilters, parseOrder, type RawComparison } from '../filters.ts'
import { isAbsent, isObject, parseJson } from '../json-values.ts'
import { type Complain, complainInto, isGiven, parseColumns, parseLimit } from '../list-parameters.ts'
import { restFields } from './fields.ts'

import { offerRowSchema } from './row.ts'
export const defaultRows = 64
export const maxRows = 5_000

type ParsedSearch = { search: OfferSearch; limit: number; columns: string[] | undefined }

/**
 * Parses the search in a request, or throws an error that lists every issue. The search is the request itself, or an
 * object or JSON under q. Keys under q take precedence over those next to it.
 */
export function parseSearch(request: Record<string, unknown>): ParsedSearch {
  const query = parseQuery(request['q'])
  if (isTooDeep(request) || isTooDeep(query)) {
    throw new DomainError(
      'INVALID_INPUT',
      `Invalid query: it is nested too deeply; at most ${maxNestingLevels} levels are allowed`,
      {
        issues: [],
      },
    )
  }
  const given = new Map([...presentEntriesOf(request), ...presentEntriesOf(query)])
  const issues: Issue[] = []
  const complain = complainInto(issues)
  const table = { fields: restFields, lenient: true, path: '', read: parseComparison }
  const conditions = parseFilters<OfferField, Condition>(Object.fromEntries(given), table, complain)
  if (!given.has('rentable')) conditions.push({ field: 'rentable', operator: 'eq', value: true })
  const search = {
    order: isGiven(given.get('order'))
      ? parseOrder(given.get('order'), { fields: orderFields, path: 'order' }, complain)
      : bestFirst,
    pricing: {
      rentalKind: parseRentalKind(given.get('type'), complain),
      diskMb: parseDiskMb(given.get('allocated_storage'), complain),
    },
    // A search for an id wants that offer, not the one that heads its bundle.
    bundled:
      !parseDisableBundling(given.get('disable_bundling'), complain) && !conditions.some(({ field }) => field === 'id'),
  }
  const limit = parseLimit(given.get('limit'), { fallback: defaultRows, maximum: maxRows }, complain)
  const columns = parseColumns(given.get('select_cols'), offerRowSchema, complain)
  return { search: { ...search, filter: checkFilter({ conditions, anyOf: [] }, issues) }, limit, columns }
}

function parseQuery(q: unknown): Record<string, unknown> {
  if (isAbsent(q)) return {}
  const query = typeof q === 'string' ? parseJson(q) : q
  if (query === undefined) {
    const message = 'is not JSON. Send an object of conditions, like {"num_gpus": {"gte": 2}}.'
    throw invalidInput([{ path: 'q', message }])
  }
  if (isAbsent(query)) return {}
  if (!isObject(query))
    throw new DomainError('INVALID_INPUT', 'Invalid query: must be dict of conditions', { issues: [] })
  return query
}

function presentEntriesOf(search: Record<string, unknown>): [string, unknown][] {
  return Object.entries(search).filter(([, value]) => !isAbsent(value))
}

const wildcards = ['any', '?', '*']

function parseComparison({
  name,
  field,
  operator,
  operand,
}: RawComparison<OfferField>): Condition | string | undefined {
  if (isAbsent(operand) || wildcards.some(word => word === operand)) return undefined
  const condition = parseCondition(field, operator, parseWireValue(name, operand))
  if (typeof condition === 'object' || fieldTypeOf(field) !== 'boolean') return condition
  // Any boolean field may be compared with numbers, since some (hosting_type, has_avx) are 0 or 1 on the wire.
  const numeric = parseCondition('numGpus', operator, operand)
  if (typeof numeric === 'string') return condition
  return { field, operator: 'in', values: [false, true].filter(value => meetsCondition(Number(value), numeric)) }
}

/** Parsers of values that the wire writes differently. */
const wireParsers: Record<string, (value: string) => string | number | undefined> = {
  gpu_name: value => value.replaceAll('_', ' '),
  // "South Korea, KR": the code comes last.
  geolocation: value => value.split(',').at(-1)?.trim(),
  driver_version: parseDriverVersion,
  driver_vers: parseDriverVersion,
}

/** Converts wire values of a column to stored values. */
export function parseWireValue(name: string, operand: unknown): unknown {
  const written = (value: unknown) => (typeof value === 'string' ? (wireParsers[name]?.(value) ?? value) : value)
  return Array.isArray(operand) ? operand.map(written) : written(operand)
}

const orderFields = Object.fromEntries(
  Object.entries(restFields).filter(([, field]) => fieldTypeOf(field) !== 'boolean'),
)
const bestFirst: OrderKey[] = [{ field: 'score', direction: 'desc' }]

const rentalKindsByWord = new Map<unknown, RentalKind>([
  [undefined, 'onDemand'],
  ['ondemand', 'onDemand'],
  ['on-demand', 'onDemand'],
  // A reserved rental is a prepaid on-demand rental.
  ['reserved', 'onDemand'],
  ['bid', 'interruptible'],
  ['interruptible', 'interruptible'],
])

function parseRentalKind(type: unknown, complain: Complain): RentalKind {
  const known = rentalKindsByWord.get(type)
  if (!known) complain('type', `${quoteValue(type)} is not one of ondemand, bid, reserved`)
  return known ?? 'onDemand'
}

function parseDiskMb(allocatedStorage: unknown, complain: Complain): number {
  if (allocatedStorage === undefined) return defaultDiskMb
  const diskMb = diskMbOf(parseNumber(allocatedStorage) ?? Number.NaN)
  if (diskMb === undefined) complain('allocated_storage', `must be a number of GB from 0 to ${maxDiskGb}`)
  return diskMb ?? defaultDiskMb
}

function parseDisableBundling(disableBundling: unknown, complain: Complain): boolean {
  if (disableBundling === undefined) return false
  const unbundled = parseBoolean(disableBundling)
  if (unbundled === undefined) complain('disable_bundling', 'must be true or false')
  return unbundled ?? false
}
