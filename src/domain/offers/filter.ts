import { type Issue, invalidInput } from '../errors.ts'
import { nanosOf, parseUsd } from '../money.ts'
import { type FieldKind, type FieldValue, fieldOf, kindOf, type OfferField } from './fields.ts'
import type { Offer } from './offers.ts'

const operators = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'contains'] as const
export type Operator = (typeof operators)[number]

const equality: readonly Operator[] = ['eq', 'neq', 'in', 'nin']
const comparison: readonly Operator[] = [...equality, 'gt', 'gte', 'lt', 'lte']
export const operatorsOf: Record<FieldKind, readonly Operator[]> = {
  number: comparison,
  usd: comparison,
  text: [...equality, 'contains'],
  boolean: equality,
}

type ListOperator = 'in' | 'nin'
type Comparison = { operator: Exclude<Operator, ListOperator>; value: FieldValue }
type Membership = { operator: ListOperator; values: FieldValue[] }

/** One field compared with a value or a list. Texts are in lower case. */
export type Condition = { field: OfferField } & (Comparison | Membership)

/** Every condition holds and, when there are alternatives, at least one of them does too. */
export type OfferFilter = { conditions: Condition[]; alternatives: OfferFilter[] }

const maxConditions = 50
/** Said of a field in a filter by which something is rented. A search takes it for a field that is not there. */
export const comparesWithNothing = 'compares with nothing. Give a value, or leave the field out.'
export const maxOperands = 200
const maxNesting = 3

/** A condition, or what is wrong with it. Numbers and booleans may come as strings, as old clients send them. */
export function readCondition(field: OfferField, operator: Operator, operand: unknown): Condition | string {
  const kind = kindOf(field)
  if (!operatorsOf[kind].includes(operator)) return `does not apply to ${nameOf[kind]}`
  if (operator !== 'in' && operator !== 'nin') {
    const value = readValue[kind](operand)
    return value === undefined ? `${show(operand)} is not ${nameOf[kind]}` : { field, operator, value }
  }
  const operands = Array.isArray(operand) ? operand : [operand]
  if (operands.length > maxOperands) return `takes at most ${maxOperands} values, not ${operands.length}`
  const values: FieldValue[] = []
  for (const raw of operands) {
    const value = readValue[kind](raw)
    if (value === undefined) return `${show(raw)} is not ${nameOf[kind]}`
    values.push(value)
  }
  return { field, operator, values }
}

const nameOf: Record<FieldKind, string> = { number: 'a number', usd: 'an amount', text: 'a text', boolean: 'a boolean' }

/** A value as a message quotes it. */
export function show(value: unknown): string {
  const text = typeof value === 'object' || typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

const readValue: Record<FieldKind, (raw: unknown) => FieldValue | undefined> = {
  number: readNumber,
  usd: readUsd,
  text: raw => (typeof raw === 'string' && raw.isWellFormed() && !raw.includes('\0') ? raw.toLowerCase() : undefined),
  boolean: readBoolean,
}

export function readBoolean(raw: unknown): boolean | undefined {
  const value = typeof raw === 'string' ? raw.toLowerCase() : raw
  return value === true || value === 'true' ? true : value === false || value === 'false' ? false : undefined
}

export function readNumber(raw: unknown): number | undefined {
  if (typeof raw === 'string' && !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(raw)) return undefined
  const value = typeof raw === 'string' ? Number(raw) : raw
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** An amount with more than nine places is rounded, and one that no price reaches is as good as the largest. */
function readUsd(raw: unknown): bigint | undefined {
  if (typeof raw === 'bigint') return raw
  const exact = typeof raw === 'string' ? parseUsd(raw) : undefined
  if (exact !== undefined) return exact
  const value = readNumber(raw)
  return value === undefined ? undefined : nanosOf(value)
}

/** Refuses a filter that its reader found fault with, or that would cost too much to answer. */
export function checkFilter(filter: OfferFilter, found: Issue[]): OfferFilter {
  const issues = [...found]
  const conditions = countConditions(filter)
  if (conditions > maxConditions) {
    issues.push({
      path: 'filter',
      message: `has ${conditions} conditions; at most ${maxConditions} are allowed.`,
    })
  }
  if (nestingOf(filter) > maxNesting) {
    issues.push({ path: 'filter', message: `nests "or" more than ${maxNesting} deep.` })
  }
  if (issues.length > 0) throw invalidInput(issues)
  return filter
}

function countConditions(filter: OfferFilter): number {
  return filter.alternatives.reduce((sum, alternative) => sum + countConditions(alternative), filter.conditions.length)
}

function nestingOf(filter: OfferFilter): number {
  return filter.alternatives.reduce((deepest, alternative) => Math.max(deepest, 1 + nestingOf(alternative)), 0)
}

export function matches(offer: Offer, filter: OfferFilter): boolean {
  const { conditions, alternatives } = filter
  if (!conditions.every(condition => holds(fieldOf(offer, condition.field), condition))) return false
  return alternatives.length === 0 || alternatives.some(alternative => matches(offer, alternative))
}

/** Whether a value meets a condition on its field. Values of one field are of one type, so they compare. */
export function holds(raw: FieldValue, condition: Condition): boolean {
  const value = typeof raw === 'string' ? raw.toLowerCase() : raw
  switch (condition.operator) {
    case 'in':
      return condition.values.includes(value)
    case 'nin':
      return !condition.values.includes(value)
    default:
      return compares[condition.operator](value, condition.value)
  }
}

const compares: Record<Comparison['operator'], (a: FieldValue, b: FieldValue) => boolean> = {
  eq: (a, b) => a === b,
  neq: (a, b) => a !== b,
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
  contains: (a, b) => String(a).includes(String(b)),
}
