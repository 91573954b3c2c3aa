// Reads which instances are listed, as clients write it in a URL: filters, an order and columns as JSON.

import { z } from 'zod'
import type { Issue } from '../domain/errors.ts'
import {
  checkInstanceSearch,
  type InstanceCondition,
  type InstanceOrderKey,
  type InstanceSearch,
  readInstanceCondition,
} from '../domain/instances-search.ts'
import { readNumber } from '../domain/offers-filter.ts'
import { type Complain, fromUrl, isAbsent, isObject, readColumns } from './columns.ts'
import { instanceFields } from './instances-fields.ts'
import { operators, spellings } from './offers-input.ts'

export const maxPageRows = 25
/** What a limit of nothing or less means. */
const fewRows = 5

const text = (about: string) => z.string().optional().describe(about)

export const listQuery = z.object({
  select_cols: text('The columns to return, as a list in JSON; ["*"] is all, as is nothing.'),
  select_filters: text(
    'Conditions that must all hold, as JSON: {"column": {"operator": value}} with eq, neq, gt, gte, lt, lte, in and notin. Null stands for no value.',
  ),
  order_by: text('What to sort by, as JSON: [{"col": "id", "dir": "asc"}]. The oldest come first where all is equal.'),
  limit: z
    .string()
    .optional()
    .meta({
      type: 'integer',
      description: `How many at most, up to ${maxPageRows}, which is the default. Nothing or less is ${fewRows}.`,
    }),
  after_token: text('The next_token of the page before.'),
})

type Listing = {
  search: InstanceSearch
  page: { limit: number; after: string | undefined }
  columns: string[] | undefined
}

/** What is asked for, or an error that names everything that is wrong with it. */
export function readListing(query: z.output<typeof listQuery>): Listing {
  const issues: Issue[] = []
  const complain: Complain = (path, message) => void issues.push({ path, message: `${message}.` })
  const given = (name: keyof typeof query) => (isAbsent(query[name]) ? undefined : query[name])
  const columns = readColumns(given('select_cols'), complain)
  const limit = readLimit(given('limit'), complain)
  const conditions = readFilters(given('select_filters'), complain)
  const order = readOrder(given('order_by'), complain)
  const after = given('after_token')
  return { search: checkInstanceSearch({ conditions, order }, issues), page: { limit, after }, columns }
}

function readFilters(given: unknown, complain: Complain): InstanceCondition[] {
  const filters = fromUrl(given)
  if (given === undefined || filters === null) return []
  if (!isObject(filters)) {
    complain('select_filters', 'must be an object of conditions, like {"actual_status": {"in": ["running"]}}')
    return []
  }
  return Object.entries(filters).flatMap(([name, value]) => (value === null ? [] : readFilter(name, value, complain)))
}

function readFilter(name: string, value: unknown, complain: Complain): InstanceCondition[] {
  const path = `select_filters.${name}`
  const field = Object.hasOwn(instanceFields, name) ? instanceFields[name] : undefined
  if (field === undefined) {
    complain(path, 'is no column to filter by')
    return []
  }
  const comparisons = isObject(value) ? value : { [Array.isArray(value) ? 'in' : 'eq']: value }
  const written = (one: unknown) => (typeof one === 'string' ? (spellings[name]?.(one) ?? one) : one)
  return Object.entries(comparisons).flatMap(([word, operand]) => {
    const operator = operators.get(word)
    if (!operator) {
      complain(path, `unknown operator "${word}"; there are eq, neq, gt, gte, lt, lte, in, notin`)
      return []
    }
    const condition = readInstanceCondition(
      field,
      operator,
      Array.isArray(operand) ? operand.map(written) : written(operand),
    )
    if (typeof condition === 'object') return [condition]
    complain(`${path}.${word}`, condition)
    return []
  })
}

function readOrder(given: unknown, complain: Complain): InstanceOrderKey[] {
  const order = fromUrl(given)
  if (given === undefined || order === null) return []
  if (!Array.isArray(order)) {
    complain('order_by', 'must be a list like [{"col": "id", "dir": "asc"}]')
    return []
  }
  return order.flatMap((key: unknown) => {
    const { col, dir } = isObject(key) ? key : { col: key, dir: undefined }
    const field = typeof col === 'string' && Object.hasOwn(instanceFields, col) ? instanceFields[col] : undefined
    if (field) return [{ field, direction: dir === 'desc' ? ('desc' as const) : ('asc' as const) }]
    complain('order_by', `${typeof col === 'string' ? `"${col.slice(0, 60)}"` : 'this'} is no column to order by`)
    return []
  })
}

function readLimit(given: unknown, complain: Complain): number {
  if (given === undefined) return maxPageRows
  const limit = readNumber(given) ?? Number.NaN
  if (!Number.isInteger(limit)) complain('limit', 'must be a whole number')
  return limit <= 0 ? fewRows : Math.min(limit, maxPageRows)
}
