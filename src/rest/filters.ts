// Filters and orders of lists, as clients write them: as JSON in a URL, or as they are in a body. Lists differ in their
// columns, and in what a comparison with one means.

import { type Operator, show } from '../domain/offers/filter.ts'
import type { Direction } from '../domain/offers/order.ts'
import { type Complain, fromUrl, isGiven, isObject } from './columns.ts'

type Columns<Field> = {
  /** What clients call the columns. */
  fields: Record<string, Field>
  /** Whether columns that are not known are ignored. */
  lenient?: boolean
}

export type Comparison<Field> = { name: string; field: Field; operator: ListOperator; operand: unknown }
type ListOperator = Exclude<Operator, 'contains'>

type FilterTable<Field, Condition> = Columns<Field> & {
  /** What stands before the name of a column in the request. */
  path?: string
  /** The condition, or what is wrong with it; undefined where it says nothing. */
  read: (comparison: Comparison<Field>) => Condition | string | undefined
}

/** The operators by the names that they have on the wire. */
const operators = new Map<string, ListOperator>([
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

/** The conditions in {column: {operator: value}}. Clients leave out the operator where it is plain. */
export function readFilters<Field, Condition>(
  given: unknown,
  { fields, lenient = false, path: before = 'select_filters.', read }: FilterTable<Field, Condition>,
  complain: Complain,
): Condition[] {
  const filters = isGiven(given) ? fromUrl(given) : {}
  if (!isObject(filters)) {
    complain('select_filters', `must be an object of conditions, like {"${Object.keys(fields)[0]}": {"eq": 1}}`)
    return []
  }
  return Object.entries(filters).flatMap(([name, value]) => {
    const path = `${before}${name}`.slice(0, 100).toWellFormed()
    const field = fieldOf(fields, name)
    if (value === null || (lenient && field === undefined)) return []
    if (field === undefined) {
      complain(path, `is no column to filter by; there are ${Object.keys(fields).join(', ')}`)
      return []
    }
    const comparisons = isObject(value) ? value : { [Array.isArray(value) ? 'in' : 'eq']: value }
    return Object.entries(comparisons).flatMap(([word, operand]) => {
      const operator = operators.get(word)
      const condition = operator && read({ name, field, operator, operand })
      if (!operator) complain(path, `unknown operator ${show(word)}; there are eq, neq, gt, gte, lt, lte, in, notin`)
      if (typeof condition === 'string') complain(`${path}.${word}`, condition)
      return condition === undefined || typeof condition === 'string' ? [] : [condition]
    })
  })
}

type OrderTable<Field> = Columns<Field> & {
  path?: string
  /** The direction where none is said. */
  otherwise?: Direction
  /** Whether the list can be in the order of one column only. */
  single?: boolean
}

/** What to sort by: a column, or [column, direction], or {"col": column, "dir": direction}, or a list of those. */
export function readOrder<Field>(
  given: unknown,
  { fields, lenient = false, path = 'order_by', otherwise = 'asc', single = false }: OrderTable<Field>,
  complain: Complain,
): { field: Field; direction: Direction }[] {
  if (!isGiven(given)) return []
  const order = fromUrl(given) ?? given
  const keys = (Array.isArray(order) && !isPair(order) ? order : [order]).flatMap((key: unknown) => {
    const [name, word] = Array.isArray(key) ? key : isObject(key) ? [key['col'], key['dir']] : [key]
    const field = typeof name === 'string' ? fieldOf(fields, name) : undefined
    const direction = directionOf(word ?? otherwise)
    if (field !== undefined && direction) return [{ field, direction }]
    if (!lenient || !direction) complain(path, `${show(key)} is not a field to order by with "asc" or "desc"`)
    return []
  })
  if (single && keys.length > 1) complain(path, 'takes one column only')
  return keys
}

function isPair(order: unknown[]): boolean {
  return order.length === 2 && typeof order[0] === 'string' && directionOf(order[1]) !== undefined
}

function directionOf(word: unknown): Direction | undefined {
  const direction = typeof word === 'string' ? word.toLowerCase() : word
  return direction === 'asc' || direction === 'desc' ? direction : undefined
}

function fieldOf<Field>(fields: Record<string, Field>, name: string): Field | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}
