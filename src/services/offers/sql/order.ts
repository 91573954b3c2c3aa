import { Prisma } from '../../../database/generated/client.ts'
import { type FieldValue, fieldTypeOf, type OfferField } from '../../../domain/offers/fields.ts'
import type { OrderKey } from '../../../domain/offers/order.ts'
import { type ColumnContext, fieldColumnOf } from './columns.ts'
import { andSql, parameterSql } from './filter.ts'

const { sql, join, raw } = Prisma

/** Orders texts by code points, independent of the database's locale. */
export function orderColumnSql(field: OfferField, context: ColumnContext): Prisma.Sql {
  const { sql: column } = fieldColumnOf(field, context)
  return fieldTypeOf(field) === 'text' ? sql`${column} COLLATE "C"` : column
}

/**
 * Rows after a position: the first key is after it, or is equal and the second is after it, and so on. Without a
 * position, all rows.
 */
export function afterPositionSql(
  position: FieldValue[] | undefined,
  keys: OrderKey[],
  context: ColumnContext,
): Prisma.Sql[] {
  const [firstKey] = keys
  const firstValue = position?.[0]
  if (!position || !firstKey || firstValue === undefined) return []
  const compare = ({ field }: OrderKey, operator: string, value: FieldValue) =>
    sql`${orderColumnSql(field, context)} ${raw(operator)} ${parameterSql(field, value, context)}`
  const sideOf = ({ direction }: OrderKey) => (direction === 'asc' ? '>' : '<')
  // The alternatives imply this bound on the first key. It is stated alone, so that an index scan can start from it.
  const bound = compare(firstKey, `${sideOf(firstKey)}=`, firstValue)
  const alternatives: Prisma.Sql[] = []
  const equal: Prisma.Sql[] = []
  for (const [index, key] of keys.entries()) {
    const value = position[index]
    if (value === undefined) break
    alternatives.push(andSql([...equal, compare(key, sideOf(key), value)]))
    equal.push(compare(key, '=', value))
  }
  return [bound, sql`(${join(alternatives, ' OR ')})`]
}

/**
 * Drops the keys that cannot change the order within one kind, so that more orders match an index. Those are fields of
 * the kind, which are constant in it. Also `pricePerGpuHour asc` and `tflopsPerDollar desc` directly before
 * `pricePerHour asc`: with a fixed GPU count and model, each sorts as the price does.
 */
export function orderWithinKind(keys: OrderKey[], context: ColumnContext): OrderKey[] {
  const varying = keys.filter(({ field }) => fieldColumnOf(field, context).scope !== 'kind')
  return varying.filter(({ field, direction }, index) => {
    const sortsAsPrice =
      (field === 'pricePerGpuHour' && direction === 'asc') || (field === 'tflopsPerDollar' && direction === 'desc')
    const next = varying[index + 1]
    return !(sortsAsPrice && next?.field === 'pricePerHour' && next.direction === 'asc')
  })
}

/** The key that the order within one kind begins with. Every order has the price. */
export function firstWithinKind(keys: OrderKey[], context: ColumnContext): OrderKey {
  return orderWithinKind(keys, context)[0] ?? { field: 'pricePerHour', direction: 'asc' }
}
