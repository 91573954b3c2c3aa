// Filters and orders of lists, as clients write them: as JSON in a URL, or as they are in a body. Lists differ in their
// columns, and in what a comparison with one means.

import { type Operator, quoteValue } from '../domain/offers/filter.ts'
import type { Direction } from '../domain/offers/order.ts'
import { type Complain, isGiven, isObject, parseUrlValue } from './list-parameters.ts'

type ColumnRules<Field> = {
  /** What clients call the columns. */
  fields: Record<string, Field>
  /** Whether columns that are not known are ignored. */
  lenient?: boolean
}

export type Comparison<Field> = { name: string; field: Field; operator: ListOperator; operand: unknown }
type ListOperator = Exclude<Operator, 'contains'>

type FilterRules<Field, Condition> = ColumnRules<Field> & {
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
export function parseFilters<Field, Condition>(
  given: unknown,
  { fields, lenient = false, path: before = 'select_filters.', read }: FilterRules<Field, Condition>,
  complain: Complain,
): Condition[] {
  const filters = isGiven(given) ? parseUrlValue(given) : {}
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
      if (!operator)
        complain(path, `unknown operator ${quoteValue(word)}; there are eq, neq, gt, gte, lt, lte, in, notin`)
      if (typeof condition === 'string') complain(`${path}.${word}`, condition)
      return condition === undefined || typeof condition === 'string' ? [] : [condition]
    })
  })
}

type OrderRules<Field> = ColumnRules<Field> & {
  path?: string
  /** The direction where none is said. */
  defaultDirection?: Direction
  /** Whether the list can be in the order of one column only. */
  single?: boolean
}

/** What to sort by: a column, or [column, direction], or {"col": column, "dir": direction}, or a list of those. */
export function parseOrder<Field>(
  given: unknown,
  { fields, lenient = false, path = 'order_by', defaultDirection = 'asc', single = false }: OrderRules<Field>,
  complain: Complain,
): { field: Field; direction: Direction }[] {
  if (!isGiven(given)) return []
  const order = parseUrlValue(given) ?? given
  const keys = (Array.isArray(order) && !isPair(order) ? order : [order]).flatMap((key: unknown) => {
    const [name, word] = Array.isArray(key) ? key : isObject(key) ? [key['col'], key['dir']] : [key]
    const field = typeof name === 'string' ? fieldOf(fields, name) : undefined
    const direction = parseDirection(word ?? defaultDirection)
    if (field !== undefined && direction) return [{ field, direction }]
    if (!lenient || !direction) complain(path, `${quoteValue(key)} is not a field to order by with "asc" or "desc"`)
    return []
  })
  if (single && keys.length > 1) complain(path, 'takes one column only')
  return keys
}

function isPair(order: unknown[]): boolean {
  return order.length === 2 && typeof order[0] === 'string' && parseDirection(order[1]) !== undefined
}

function parseDirection(word: unknown): Direction | undefined {
  const direction = typeof word === 'string' ? word.toLowerCase() : word
  return direction === 'asc' || direction === 'desc' ? direction : undefined
}

function fieldOf<Field>(fields: Record<string, Field>, name: string): Field | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}
