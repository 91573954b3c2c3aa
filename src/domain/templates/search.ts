import { DomainError, type Issue, invalidInput } from '../errors.ts'
import type { FieldKind } from '../offers/fields.ts'
import { maxOperands, type Operator, operatorsByKind, parseBoolean, parseNumber, quoteValue } from '../offers/filter.ts'
import type { Direction } from '../offers/order.ts'
import { parseCursor, printCursor } from '../pages.ts'

/** What templates can be searched and ordered by. */
export const templateFields = {
  id: 'number',
  hashId: 'text',
  name: 'text',
  image: 'text',
  description: 'text',
  /** The account that it belongs to, where that is the one that asks; else 0. */
  creatorId: 'number',
  private: 'boolean',
  createdAt: 'number',
  rentals: 'number',
  diskGb: 'number',
  mode: 'text',
  usesSsh: 'boolean',
  directSsh: 'boolean',
  directNotebook: 'boolean',
  lab: 'boolean',
  recommended: 'boolean',
} as const satisfies Record<string, FieldKind>
export type TemplateField = keyof typeof templateFields

type Value = number | string | boolean
/** Lists of one value for the operators that take one. Texts are in lower case. */
export type TemplateCondition = { field: TemplateField; operator: Operator; values: Value[] }
export type TemplateOrder = { field: TemplateField; direction: Direction }
export type TemplateSearch = {
  conditions: TemplateCondition[]
  order: TemplateOrder
  limit: number
  after?: string | undefined
}

const maxConditions = 50
const isListOperator = (operator: Operator) => operator === 'in' || operator === 'nin'

/** A condition, or what is wrong with it. Numbers and booleans may come as texts. */
export function parseTemplateCondition(
  field: TemplateField,
  operator: Operator,
  operand: unknown,
): TemplateCondition | string {
  const kind = templateFields[field]
  if (!operatorsByKind[kind].includes(operator)) return `does not apply to a ${kind}`
  const operands = isListOperator(operator) && Array.isArray(operand) ? operand : [operand]
  if (operands.length > maxOperands) return `takes at most ${maxOperands} values, not ${operands.length}`
  const values: Value[] = []
  for (const raw of operands) {
    const value = parseValueByKind[kind](raw)
    if (value === undefined) return `${quoteValue(raw)} is not a ${kind}`
    values.push(value)
  }
  return { field, operator, values }
}

const parseValueByKind: Record<'number' | 'text' | 'boolean', (raw: unknown) => Value | undefined> = {
  number: parseNumber,
  text: raw => (typeof raw === 'string' && raw.isWellFormed() && !raw.includes('\0') ? raw.toLowerCase() : undefined),
  boolean: parseBoolean,
}

/** Refuses a search that its reader found fault with, or that would cost too much to answer. */
export function checkTemplateConditions(conditions: TemplateCondition[], found: Issue[]): TemplateCondition[] {
  const issues = [...found]
  if (conditions.length > maxConditions) {
    const message = `has ${conditions.length} conditions; at most ${maxConditions} are allowed.`
    issues.push({ path: 'filter', message })
  }
  if (issues.length > 0) throw invalidInput(issues)
  return conditions
}

/** Where a template stands in an order: its value as the database prints it, and its id, so that no two are equal. */
type TemplatePosition = { value: string; id: number }

const scopeOf = ({ field, direction }: TemplateOrder) => `templates by ${field} ${direction}`

export function printTemplateSearchCursor({ value, id }: TemplatePosition, order: TemplateOrder): string {
  return printCursor(scopeOf(order), [value, id])
}

export function parseTemplateSearchCursor(cursor: string, order: TemplateOrder): TemplatePosition {
  const [value, id, ...rest] = parseCursor(cursor, scopeOf(order))
  const kind = templateFields[order.field]
  const fits = typeof value === 'string' && parseValueByKind[kind](value) !== undefined
  const isId = typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < 2 ** 31
  if (fits && isId && rest.length === 0) return { value, id }
  throw new DomainError('INVALID_CURSOR', 'This is not a cursor of this list.')
}
