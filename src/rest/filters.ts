// Parses the filters and the order of a list: JSON text in a URL, plain JSON in a body. Each list has its own columns
// and comparisons.

import type { Operator } from '../domain/offers/filter.ts'
import type { Direction } from '../domain/offers/order.ts'
import { quoteValue } from '../domain/values.ts'
import { isObject } from './json-values.ts'
import { type Complain, isGiven, parseUrlValue } from './list-parameters.ts'

type ColumnRules<Field> = {
  /** The columns by their wire names. */
  fields: Record<string, Field>
  /** Whether to ignore unknown columns. */
  lenient?: boolean
}

export type RawComparison<Field> = { name: string; field: Field; operator: ListOperator; operand: unknown }
type ListOperator = Exclude<Operator, 'contains' | 'startsWith'>

type FilterRules<Field, Condition> = ColumnRules<Field> & {
  /** Prefix of a column's name in the path of an issue. */
  path?: string
  /** Returns the condition, a message if it is invalid, or undefined if it restricts nothing. */
  read: (comparison: RawComparison<Field>) => Condition | string | undefined
}

/** The operators by their wire names. */
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

/** Parses {column: {operator: value}}. Without an operator, a list means `in` and any other value `eq`. */
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
      complain(path, `is not a filterable column; use ${Object.keys(fields).join(', ')}`)
      return []
    }
    const comparisons = isObject(value) ? value : { [Array.isArray(value) ? 'in' : 'eq']: value }
    return Object.entries(comparisons).flatMap(([word, operand]) => {
      const operator = operators.get(word)
      const condition = operator && read({ name, field, operator, operand })
      if (!operator) complain(path, `unknown operator ${quoteValue(word)}; use eq, neq, gt, gte, lt, lte, in, notin`)
      if (typeof condition === 'string') complain(`${path}.${word}`, condition)
      return condition === undefined || typeof condition === 'string' ? [] : [condition]
    })
  })
}

type OrderRules<Field> = ColumnRules<Field> & {
  path?: string
  /** The direction when the client gives none. */
  defaultDirection?: Direction
  /** Whether only one column is allowed. */
  single?: boolean
}

/** Parses an order: a column, [column, direction], {"col": column, "dir": direction}, or a list of those. */
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
    if (!lenient || !direction) complain(path, `${quoteValue(key)} is not a sortable column with "asc" or "desc"`)
    return []
  })
  if (single && keys.length > 1) complain(path, 'takes only one column')
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
