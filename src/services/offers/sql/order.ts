import { Prisma } from '../../../database/generated/client.ts'
import { type FieldValue, fieldKindOf, type OfferField } from '../../../domain/offers/fields.ts'
import type { OrderKey } from '../../../domain/offers/order.ts'
import { type ColumnContext, columnOf } from './columns.ts'
import { andSql, parameterSql } from './filter.ts'

const { sql, join, raw } = Prisma

/** Texts are ordered by their code points, whatever the database's language is. */
export function orderColumnSql(field: OfferField, terms: ColumnContext): Prisma.Sql {
  const { sql: column } = columnOf(field, terms)
  return fieldKindOf(field) === 'text' ? sql`${column} COLLATE "C"` : column
}

/** Rows beyond a position: the first key is beyond it, or is equal and the second is beyond it, and so on. */
export function afterCursorSql(position: FieldValue[], keys: OrderKey[], terms: ColumnContext): Prisma.Sql[] {
  const steps: Prisma.Sql[] = []
  const equal: Prisma.Sql[] = []
  for (const [index, { field, direction }] of keys.entries()) {
    const value = position[index]
    if (value === undefined) break
    const column = orderColumnSql(field, terms)
    const side = raw(direction === 'asc' ? '>' : '<')
    steps.push(andSql([...equal, sql`${column} ${side} ${parameterSql(field, value)}`]))
    equal.push(sql`${column} = ${parameterSql(field, value)}`)
    // Said of the first key alone too, since an index can start from that.
    if (index === 0) steps.unshift(sql`${column} ${side}= ${parameterSql(field, value)}`)
  }
  const [reached, ...alternatives] = steps
  return reached ? [reached, sql`(${join(alternatives, ' OR ')})`] : []
}

/**
 * The same order among offers of one kind, in terms that an index has. What is equal for a whole kind orders nothing
 * there, and the price per GPU and the TFLOPS per dollar order as the price does.
 */
export function orderWithinKind(keys: OrderKey[], terms: ColumnContext): OrderKey[] {
  const distinct = keys.filter(({ field }) => columnOf(field, terms).scope !== 'kind')
  return distinct.filter(({ field, direction }, index) => {
    const followsPrice =
      (field === 'pricePerGpuHour' && direction === 'asc') || (field === 'tflopsPerDollar' && direction === 'desc')
    const next = distinct[index + 1]
    return !(followsPrice && next?.field === 'pricePerHour' && next.direction === 'asc')
  })
}
