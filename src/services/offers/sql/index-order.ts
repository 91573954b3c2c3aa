// The orders that indexes of offers have. An index of prices also has nearly the order of prices with another disk: each
// differs from the stored price by little.

import { Prisma } from '../../../database/generated/client.ts'
import { mbHoursPerGbMonth } from '../../../domain/money.ts'
import type { OfferField } from '../../../domain/offers/fields.ts'
import { defaultDiskMb, type Pricing } from '../../../domain/offers/offers.ts'
import type { Direction, OrderKey } from '../../../domain/offers/order.ts'
import { type ColumnContext, fieldColumnOf, storedPriceSql } from './columns.ts'

const { sql, raw } = Prisma

/** How an order compares values. `last` is the aggregate of the value that comes last. */
export const directions = {
  asc: { direction: raw('ASC'), from: raw('>='), to: raw('<='), before: raw('<'), last: raw('max') },
  desc: { direction: raw('DESC'), from: raw('<='), to: raw('>='), before: raw('>'), last: raw('min') },
}
const shifts = {
  asc: { nearest: raw('low'), farthest: raw('high') },
  desc: { nearest: raw('high'), farthest: raw('low') },
}
const greatestBigint = raw(String(2n ** 63n - 1n))

/** How an index is read for an order that begins with this key. `shift` is set if the index has the order only nearly. */
export function indexOrderOf({ field, direction }: OrderKey, context: ColumnContext) {
  const column = fieldColumnOf(field, context).sql
  const indexed = indexedPriceOf(field, context.pricing)
  const isWhole = indexed !== undefined || field === 'id'
  const shift =
    indexed && indexed.diskMb !== defaultDiskMb
      ? { ...shifts[direction], tableSql: priceShiftSql(indexed.diskMb) }
      : undefined
  return {
    ...directions[direction],
    ...{ column, stored: indexed?.stored ?? column, shift },
    /** No stored value is after this one. */
    end: endOf(direction, isWhole),
  }
}

function endOf(direction: Direction, isWhole: boolean): Prisma.Sql {
  if (direction === 'desc') return raw('0')
  return isWhole ? greatestBigint : raw(`'Infinity'`)
}

/** The stored price that differs from the field only by the price of the disk: the field's disk is `diskMb`. */
function indexedPriceOf(field: OfferField, pricing: Pricing): { stored: Prisma.Sql; diskMb: number } | undefined {
  switch (field) {
    case 'pricePerHour':
      return { stored: storedPriceSql(pricing), diskMb: pricing.diskMb }
    case 'gpuPricePerHour':
      return { stored: storedPriceSql(pricing), diskMb: 0 }
    case 'minimumBidPerHour':
      return { stored: storedPriceSql({ ...pricing, rentalKind: 'interruptible' }), diskMb: 0 }
    default:
      return undefined
  }
}

/** The least and the greatest difference of a price with this disk from the price with the default disk, as low and high. */
function priceShiftSql(diskMb: number): Prisma.Sql {
  const extraMb = diskMb - defaultDiskMb
  const divisor = raw(String(mbHoursPerGbMonth))
  // `extraMb` is negative for a smaller disk, so the shift at the lowest disk price can be the higher one. Two
  // nano-dollars of slack: both prices and the shift are rounded.
  return sql`
    SELECT least(at_min, at_max) - 2 AS low, greatest(at_min, at_max) + 2 AS high FROM (
      SELECT min(disk_price_per_gb_month_nanos) * ${extraMb}::bigint / ${divisor} AS at_min,
        max(disk_price_per_gb_month_nanos) * ${extraMb}::bigint / ${divisor} AS at_max FROM machines
    ) shifts`
}
