import { Prisma } from '../../../database/generated/client.ts'
import { type FieldValue, fieldTypeOf, type OfferField } from '../../../domain/offers/fields.ts'
import type { Condition, OfferFilter } from '../../../domain/offers/filter.ts'
import { type ColumnContext, fieldColumnOf } from './columns.ts'

const { sql, join, raw } = Prisma

/** The filter as conditions that must all be true. */
export function filterSql(filter: OfferFilter, context: ColumnContext): Prisma.Sql[] {
  const { conditions, anyOf } = filter
  const all = conditions.map(condition => conditionSql(condition, context))
  if (anyOf.length === 0) return all
  return [
    ...all,
    sql`(${join(
      anyOf.map(alternative => andSql(filterSql(alternative, context))),
      ' OR ',
    )})`,
  ]
}

export function andSql(conditions: Prisma.Sql[]): Prisma.Sql {
  return conditions.length === 0 ? sql`true` : sql`(${join(conditions, ' AND ')})`
}

const sqlOperators = { eq: raw('='), neq: raw('<>'), gt: raw('>'), gte: raw('>='), lt: raw('<'), lte: raw('<=') }

export function conditionSql(
  condition: Condition,
  context: ColumnContext,
  column = fieldColumnOf(condition.field, context).sql,
): Prisma.Sql {
  const { field } = condition
  if (fieldTypeOf(field) === 'version') return versionConditionSql(column, condition)
  const value = fieldTypeOf(field) === 'text' ? sql`lower(${column})` : column
  switch (condition.operator) {
    case 'in':
      return sql`${value} = ANY(${listSql(field, condition.values)})`
    case 'nin':
      return sql`${value} <> ALL(${listSql(field, condition.values)})`
    case 'contains':
      return sql`strpos(${value}, ${condition.value}) > 0`
    case 'startsWith':
      return sql`starts_with(${value}, ${condition.value})`
    default:
      return sql`${value} ${sqlOperators[condition.operator]} ${parameterSql(field, condition.value)}`
  }
}

/** The rule of `meetsVersionCondition`. The column is the key of a version, '{}' if the version is missing. */
function versionConditionSql(column: Prisma.Sql, condition: Condition): Prisma.Sql {
  if ('values' in condition) {
    if (condition.values.length === 0) return condition.operator === 'in' ? sql`false` : sql`true`
    return sql`${column} ${raw(condition.operator === 'in' ? 'IN' : 'NOT IN')} (${join(condition.values.map(versionKeySql))})`
  }
  // Versions have no other operators.
  const operator = condition.operator as keyof typeof sqlOperators
  const compared = sql`${column} ${sqlOperators[operator]} ${versionKeySql(condition.value)}`
  return operator === 'lt' || operator === 'lte' ? sql`(${compared} AND ${column} > '{}'::int[])` : compared
}

function versionKeySql(version: FieldValue): Prisma.Sql {
  return sql`version_key(${version}::text)`
}

export function parameterSql(field: OfferField, value: FieldValue): Prisma.Sql {
  if (fieldTypeOf(field) === 'version') return versionKeySql(value)
  return sql`${String(value)}::${raw(sqlTypeOf(field, [value]))}`
}

function listSql(field: OfferField, values: FieldValue[]): Prisma.Sql {
  return sql`${values.map(String)}::${raw(sqlTypeOf(field, values))}[]`
}

/** Whole numbers stay whole, so that PostgreSQL can use indexes on integers. */
function sqlTypeOf(field: OfferField, values: FieldValue[]): string {
  switch (fieldTypeOf(field)) {
    case 'number':
      return values.every(Number.isSafeInteger) ? 'bigint' : 'float8'
    case 'usd':
      return 'bigint'
    case 'text':
    case 'version':
      return 'text'
    case 'boolean':
      return 'boolean'
  }
}
