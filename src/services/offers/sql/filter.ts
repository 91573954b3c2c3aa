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
  if (fieldTypeOf(field) === 'version') return versionConditionSql(column, condition, context)
  if (fieldTypeOf(field) === 'boolean' && 'value' in condition) {
    // Without a parameter, so that every plan sees when the index of rentable offers implies it.
    return condition.value === (condition.operator !== 'neq') ? column : sql`NOT ${column}`
  }
  const value = fieldTypeOf(field) === 'text' ? sql`lower(${column})` : column
  switch (condition.operator) {
    case 'in':
      return sql`${value} = ANY(${listSql(field, condition.values, context)})`
    case 'nin':
      return sql`${value} <> ALL(${listSql(field, condition.values, context)})`
    case 'contains':
      return sql`strpos(${value}, ${parameterSql(field, condition.value, context)}) > 0`
    case 'startsWith':
      return sql`starts_with(${value}, ${parameterSql(field, condition.value, context)})`
    default:
      return sql`${value} ${sqlOperators[condition.operator]} ${parameterSql(field, condition.value, context)}`
  }
}

/** The rule of `meetsVersionCondition`. The column is the key of a version, '{}' if the version is missing. */
function versionConditionSql(column: Prisma.Sql, condition: Condition, context: ColumnContext): Prisma.Sql {
  if ('values' in condition) {
    if (condition.values.length === 0) return condition.operator === 'in' ? sql`false` : sql`true`
    return sql`${column} ${raw(condition.operator === 'in' ? 'IN' : 'NOT IN')} (${join(condition.values.map(value => parameterSql(condition.field, value, context)))})`
  }
  // Versions have no other operators.
  const operator = condition.operator as keyof typeof sqlOperators
  const compared = sql`${column} ${sqlOperators[operator]} ${parameterSql(condition.field, condition.value, context)}`
  return operator === 'lt' || operator === 'lte' ? sql`(${compared} AND ${column} > '{}'::int[])` : compared
}

export function parameterSql(field: OfferField, value: FieldValue, { valueSql = asItIs }: ColumnContext): Prisma.Sql {
  if (fieldTypeOf(field) === 'version') return valueSql(sql`version_key(${value}::text)`)
  return valueSql(sql`${String(value)}::${raw(sqlTypeOf(field, [value]))}`)
}

function listSql(field: OfferField, values: FieldValue[], { valueSql = asItIs }: ColumnContext): Prisma.Sql {
  const type = raw(`${sqlTypeOf(field, values)}[]`)
  return sql`${valueSql(sql`${values.map(String)}::${type}`)}::${type}`
}

const asItIs = (value: Prisma.Sql) => value

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
