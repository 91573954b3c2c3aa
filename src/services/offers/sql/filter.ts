import { Prisma } from '../../../database/generated/client.ts'
import { type FieldValue, kindOf, type OfferField } from '../../../domain/offers/fields.ts'
import type { Condition, OfferFilter } from '../../../domain/offers/filter.ts'
import { columnOf, type Terms } from './columns.ts'

const { sql, join, raw } = Prisma

/** The filter as terms that must all be true. */
export function filterSql(filter: OfferFilter, terms: Terms): Prisma.Sql[] {
  const { conditions, alternatives } = filter
  const all = conditions.map(condition => conditionSql(condition, terms))
  if (alternatives.length === 0) return all
  return [
    ...all,
    sql`(${join(
      alternatives.map(alternative => allOf(filterSql(alternative, terms))),
      ' OR ',
    )})`,
  ]
}

export function allOf(conditions: Prisma.Sql[]): Prisma.Sql {
  return conditions.length === 0 ? sql`true` : sql`(${join(conditions, ' AND ')})`
}

const comparisons = { eq: raw('='), neq: raw('<>'), gt: raw('>'), gte: raw('>='), lt: raw('<'), lte: raw('<=') }

export function conditionSql(condition: Condition, terms: Terms): Prisma.Sql {
  const { field } = condition
  const column = columnOf(field, terms).sql
  const value = kindOf(field) === 'text' ? sql`lower(${column})` : column
  switch (condition.operator) {
    case 'in':
      return sql`${value} = ANY(${list(field, condition.values)})`
    case 'nin':
      return sql`${value} <> ALL(${list(field, condition.values)})`
    case 'contains':
      return sql`strpos(${value}, ${condition.value}) > 0`
    default:
      return sql`${value} ${comparisons[condition.operator]} ${parameter(field, condition.value)}`
  }
}

export function parameter(field: OfferField, value: FieldValue): Prisma.Sql {
  return sql`${String(value)}::${raw(typeOf(field, [value]))}`
}

function list(field: OfferField, values: FieldValue[]): Prisma.Sql {
  return sql`${values.map(String)}::${raw(typeOf(field, values))}[]`
}

/** Whole numbers stay whole, so that indexes on integers serve. */
function typeOf(field: OfferField, values: FieldValue[]): string {
  switch (kindOf(field)) {
    case 'number':
      return values.every(Number.isSafeInteger) ? 'bigint' : 'float8'
    case 'usd':
      return 'bigint'
    case 'text':
      return 'text'
    case 'boolean':
      return 'boolean'
  }
}
