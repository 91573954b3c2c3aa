import { Prisma } from '../../../database/generated/client.ts'
import { type FieldValue, kindOf, type OfferField } from '../../../domain/offers/fields.ts'
import type { OrderKey } from '../../../domain/offers/order.ts'
import { columnOf, type Terms } from './columns.ts'
import { allOf, parameter } from './filter.ts'

const { sql, join, raw } = Prisma

/** Texts are ordered by their code points, whatever the database's language is. */
export function orderedColumn(field: OfferField, terms: Terms): Prisma.Sql {
  const { sql: column } = columnOf(field, terms)
  return kindOf(field) === 'text' ? sql`${column} COLLATE "C"` : column
}

/** Rows beyond a position: the first key is beyond it, or is equal and the second is beyond it, and so on. */
export function beyond(position: FieldValue[], keys: OrderKey[], terms: Terms): Prisma.Sql[] {
  const steps: Prisma.Sql[] = []
  const equal: Prisma.Sql[] = []
  for (const [index, { field, direction }] of keys.entries()) {
    const value = position[index]
    if (value === undefined) break
    const column = orderedColumn(field, terms)
    const side = raw(direction === 'asc' ? '>' : '<')
    steps.push(allOf([...equal, sql`${column} ${side} ${parameter(field, value)}`]))
    equal.push(sql`${column} = ${parameter(field, value)}`)
    // Said of the first key alone too, since an index can start from that.
    if (index === 0) steps.unshift(sql`${column} ${side}= ${parameter(field, value)}`)
  }
  const [reached, ...alternatives] = steps
  return reached ? [reached, sql`(${join(alternatives, ' OR ')})`] : []
}

/**
 * The same order among offers of one kind, in terms that an index has. What is equal for a whole kind orders nothing
 * there, and the price per GPU and the TFLOPS per dollar order as the price does.
 */
export function orderWithinKind(keys: OrderKey[], terms: Terms): OrderKey[] {
  const distinct = keys.filter(({ field }) => columnOf(field, terms).of !== 'kind')
  return distinct.filter(({ field, direction }, index) => {
    const followsPrice =
      (field === 'pricePerGpuHour' && direction === 'asc') || (field === 'tflopsPerDollar' && direction === 'desc')
    const next = distinct[index + 1]
    return !(followsPrice && next?.field === 'pricePerHour' && next.direction === 'asc')
  })
}
