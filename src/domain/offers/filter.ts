import { type Issue, invalidInput } from '../errors.ts'
import { countriesOf, type Region } from '../machines/regions.ts'
import { compareVersions, parseVersion } from '../machines/versions.ts'
import { nanosOfNumber, parseUsd } from '../money.ts'
import { parseBoolean, parseNumber, quoteValue } from '../values.ts'
import { type FieldType, type FieldValue, fieldTypeOf, fieldValueOf, type OfferField } from './fields.ts'
import type { Offer } from './offers.ts'

const operators = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'contains', 'startsWith'] as const
export type Operator = (typeof operators)[number]

const equalityOperators: readonly Operator[] = ['eq', 'neq', 'in', 'nin']
const orderedOperators: readonly Operator[] = [...equalityOperators, 'gt', 'gte', 'lt', 'lte']
export const operatorsByType: Record<FieldType, readonly Operator[]> = {
  number: orderedOperators,
  usd: orderedOperators,
  text: [...equalityOperators, 'contains', 'startsWith'],
  version: orderedOperators,
  boolean: equalityOperators,
}

type ListOperator = 'in' | 'nin'
type ValueCondition = { operator: Exclude<Operator, ListOperator>; value: FieldValue }
type ListCondition = { operator: ListOperator; values: FieldValue[] }

/**
 * Compares one field with a value or a list. Texts are in lower case, and `written` has them as the caller wrote them, for
 * messages: absent if that is the same. No version is missing.
 */
export type Condition = { field: OfferField; written?: string[] } & (ValueCondition | ListCondition)

/** Matches when every condition holds and, unless `anyOf` is empty, at least one of its filters matches. */
export type OfferFilter = { conditions: Condition[]; anyOf: OfferFilter[] }

const maxConditions = 50
/** For a request that rents what the filter finds. A plain search ignores an empty field. */
export const emptyFieldMessage = 'has nothing to compare with. Give a value or omit the field.'
export const maxOperands = 200
const maxNesting = 3

/**
 * Returns a condition, or a message if it is invalid. Numbers and booleans may be strings, as old clients send them.
 */
export function parseCondition(field: OfferField, operator: Operator, operand: unknown): Condition | string {
  const type = fieldTypeOf(field)
  if (!operatorsByType[type].includes(operator)) return `does not apply to ${typeNames[type]}`
  if (operator !== 'in' && operator !== 'nin') {
    const value = valueParsers[type](operand)
    if (value === undefined) return `${quoteValue(operand)} is not ${typeNames[type]}`
    return { field, operator, value, ...writtenOf(type, [operand], [value]) }
  }
  const operands = Array.isArray(operand) ? operand : [operand]
  if (operands.length > maxOperands) return `takes at most ${maxOperands} values, not ${operands.length}`
  const values: FieldValue[] = []
  for (const raw of operands) {
    const value = valueParsers[type](raw)
    if (value === undefined) return `${quoteValue(raw)} is not ${typeNames[type]}`
    values.push(value)
  }
  return { field, operator, values, ...writtenOf(type, operands, values) }
}

function writtenOf(type: FieldType, operands: unknown[], values: FieldValue[]): { written?: string[] } {
  const isSame = type !== 'text' || operands.every((operand, index) => operand === values[index])
  return isSame ? {} : { written: operands.map(String) }
}

/** The filter as it compares: equal for texts that differ only in case. */
export function withoutWriting({ conditions, anyOf }: OfferFilter): OfferFilter {
  return { conditions: conditions.map(({ written: _, ...condition }) => condition), anyOf: anyOf.map(withoutWriting) }
}

/** A machine is in a region by its country. */
export function inRegions(regions: readonly Region[]): Condition {
  const values = countriesOf(regions).map(country => country.toLowerCase())
  return { field: 'country', operator: 'in', values }
}

const typeNames: Record<FieldType, string> = {
  number: 'a number',
  usd: 'an amount',
  text: 'a string',
  version: 'a version such as 12.8 or 580.105.08',
  boolean: 'a boolean',
}

const valueParsers: Record<FieldType, (raw: unknown) => FieldValue | undefined> = {
  number: parseNumber,
  usd: parseUsdOperand,
  text: raw => (typeof raw === 'string' && raw.isWellFormed() && !raw.includes('\0') ? raw.toLowerCase() : undefined),
  version: raw => (typeof raw === 'string' ? parseVersion(raw) : undefined),
  boolean: parseBoolean,
}

/** Rounds an amount to nine decimal places, and caps it at one that no price reaches. */
function parseUsdOperand(raw: unknown): bigint | undefined {
  if (typeof raw === 'bigint') return raw
  const exact = typeof raw === 'string' ? parseUsd(raw) : undefined
  if (exact !== undefined) return exact
  const value = parseNumber(raw)
  return value === undefined ? undefined : nanosOfNumber(value)
}

/** Refuses a filter with parse issues, or one that is too large to search by. */
export function checkFilter(filter: OfferFilter, parseIssues: Issue[]): OfferFilter {
  const issues = [...parseIssues]
  const conditions = countConditions(filter)
  if (conditions > maxConditions) {
    issues.push({
      path: 'filter',
      message: `has ${conditions} conditions; at most ${maxConditions} are allowed.`,
    })
  }
  if (nestingOf(filter) > maxNesting) {
    issues.push({ path: 'filter', message: `nests "or" more than ${maxNesting} levels deep.` })
  }
  if (issues.length > 0) throw invalidInput(issues)
  return filter
}

/** A search reads a front for each alternative, up to this many. */
const maxAlternatives = 16

/**
 * Filters of which at least one matches if and only if this one does, as flat as possible: conditions alone, unless there
 * would be too many.
 */
export function alternativesOf(filter: OfferFilter): OfferFilter[] {
  const { conditions, anyOf } = filter
  if (anyOf.length === 0) return [filter]
  const alternatives = anyOf.flatMap(alternativesOf)
  if (alternatives.length > maxAlternatives) return [filter]
  return alternatives.map(each => ({ conditions: [...conditions, ...each.conditions], anyOf: each.anyOf }))
}

function countConditions(filter: OfferFilter): number {
  return filter.anyOf.reduce((sum, alternative) => sum + countConditions(alternative), filter.conditions.length)
}

function nestingOf(filter: OfferFilter): number {
  return filter.anyOf.reduce((deepest, alternative) => Math.max(deepest, 1 + nestingOf(alternative)), 0)
}

export function matchesFilter(offer: Offer, filter: OfferFilter): boolean {
  const { conditions, anyOf } = filter
  if (!conditions.every(condition => meetsCondition(fieldValueOf(offer, condition.field), condition))) return false
  return anyOf.length === 0 || anyOf.some(alternative => matchesFilter(offer, alternative))
}

/** All values of a field have one type, so that they compare. */
export function meetsCondition(raw: FieldValue, condition: Condition): boolean {
  if (fieldTypeOf(condition.field) === 'version') return meetsVersionCondition(String(raw), condition)
  const value = typeof raw === 'string' ? raw.toLowerCase() : raw
  switch (condition.operator) {
    case 'in':
      return condition.values.includes(value)
    case 'nin':
      return !condition.values.includes(value)
    default:
      return comparators[condition.operator](value, condition.value)
  }
}

/** A missing version is equal to none, and neither older nor newer than any. */
function meetsVersionCondition(version: string, condition: Condition): boolean {
  if ('values' in condition) {
    const isListed = condition.values.some(value => compareVersions(version, String(value)) === 0)
    return isListed === (condition.operator === 'in')
  }
  if (version === '' && condition.operator !== 'neq') return false
  return comparators[condition.operator](compareVersions(version, String(condition.value)), 0)
}

const comparators: Record<ValueCondition['operator'], (a: FieldValue, b: FieldValue) => boolean> = {
  eq: (a, b) => a === b,
  neq: (a, b) => a !== b,
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
  contains: (a, b) => String(a).includes(String(b)),
  startsWith: (a, b) => String(a).startsWith(String(b)),
}
