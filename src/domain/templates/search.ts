import { type Issue, invalidInput } from '../errors.ts'
import type { FieldType } from '../offers/fields.ts'
import { maxOperands, type Operator, operatorsByType } from '../offers/filter.ts'
import type { Direction } from '../offers/order.ts'
import { invalidCursor, parseCursor, printCursor } from '../pages.ts'
import { parseBoolean, parseNumber, quoteValue } from '../values.ts'

/** The fields that templates can be filtered and sorted by. */
export const templateFields = {
  id: 'number',
  hashId: 'text',
  name: 'text',
  image: 'text',
  description: 'text',
  /** The id of the caller's account for its own templates, else 0. */
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
} as const satisfies Record<string, FieldType>
export type TemplateField = keyof typeof templateFields

type Value = number | string | boolean
/** Operators with one operand have one value. Texts are in lower case. */
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

/** Parses a condition, or returns a message. Numbers and booleans may be strings. */
export function parseTemplateCondition(
  field: TemplateField,
  operator: Operator,
  operand: unknown,
): TemplateCondition | string {
  const type = templateFields[field]
  if (!operatorsByType[type].includes(operator)) return `does not apply to a ${type}`
  const operands = isListOperator(operator) && Array.isArray(operand) ? operand : [operand]
  if (operands.length > maxOperands) return `takes at most ${maxOperands} values, not ${operands.length}`
  const values: Value[] = []
  for (const raw of operands) {
    const value = parseValueByType[type](raw)
    if (value === undefined) return `${quoteValue(raw)} is not a ${type}`
    values.push(value)
  }
  return { field, operator, values }
}

const parseValueByType: Record<'number' | 'text' | 'boolean', (raw: unknown) => Value | undefined> = {
  number: parseNumber,
  text: raw => (typeof raw === 'string' && raw.isWellFormed() && !raw.includes('\0') ? raw.toLowerCase() : undefined),
  boolean: parseBoolean,
}

/** Refuses a search with parse issues or too many conditions. */
export function checkTemplateConditions(conditions: TemplateCondition[], parseIssues: Issue[]): TemplateCondition[] {
  const issues = [...parseIssues]
  if (conditions.length > maxConditions) {
    const message = `has ${conditions.length} conditions; at most ${maxConditions} are allowed.`
    issues.push({ path: 'filter', message })
  }
  if (issues.length > 0) throw invalidInput(issues)
  return conditions
}

/** A template's position in an order: its value as the database prints it, and its id as a tiebreaker. */
type TemplatePosition = { value: string; id: number }

const scopeOf = ({ field, direction }: TemplateOrder) => `templates by ${field} ${direction}`

export function printTemplateSearchCursor({ value, id }: TemplatePosition, order: TemplateOrder): string {
  return printCursor(scopeOf(order), [value, id])
}

export function parseTemplateSearchCursor(cursor: string, order: TemplateOrder): TemplatePosition {
  const [value, id, ...rest] = parseCursor(cursor, scopeOf(order))
  const type = templateFields[order.field]
  const fits = typeof value === 'string' && parseValueByType[type](value) !== undefined
  const isId = typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < 2 ** 31
  if (fits && isId && rest.length === 0) return { value, id }
  throw invalidCursor()
}
