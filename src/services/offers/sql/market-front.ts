// The front of the whole market: the rentable offers of all kinds in the order of one of the indexes offers_cheapest,
// offers_cheapest_bids, offers_best, offers_fastest and offers_fastest_per_dollar. It has a page of every search that names
// no GPU model and matches at least some offers in a hundred.

import { Prisma } from '../../../database/generated/client.ts'
import type { OfferField } from '../../../domain/offers/fields.ts'
import { defaultDiskMb } from '../../../domain/offers/offers.ts'
import { andSql, parameterSql } from './filter.ts'
import { indexOrderOf, possibleValues, priceShiftSql } from './fronts.ts'
import { afterPositionSql } from './order.ts'
import {
  fieldsOf,
  kindConditionsSql,
  machineJoinSql,
  offerConditionsSql,
  positionColumnsSql,
  positionOrderSql,
  type Slice,
  type TimedSelection,
} from './selection.ts'

const { sql, empty } = Prisma

/** Whether an index has the offers in the order of the slice, or nearly so: another disk shifts prices. */
export function hasMarketFront(selection: TimedSelection, { keys: [first] }: Slice): boolean {
  const { rentalKind, diskMb } = selection.pricing
  const isStored = rentalKind === 'onDemand' && diskMb === defaultDiskMb
  const fields: OfferField[] = ['pricePerHour', 'score', 'dlperf', ...(isStored ? ['dlperfPerDollar' as const] : [])]
  const isOrdered = first !== undefined && fields.includes(first.field)
  return isOrdered && !possibleValues('rentable', selection).includes(false)
}

/**
 * Common table expressions: `probe` has the first matches among the `offers` next offers of the market, and
 * `probed.done` says whether these are the page.
 */
export function marketFrontSql(selection: TimedSelection, slice: Slice, offers: number): Prisma.Sql {
  const { keys, after, limit } = slice
  const { stored, shift, direction, to, end, greatest } = indexOrderOf(selection, slice.keys)
  const range = sql`o.withdrawn_at IS NULL AND o.rentable AND ${startSql(selection, slice)}`
  const matching = [
    ...kindConditionsSql(selection),
    ...offerConditionsSql(selection),
    ...afterPositionSql(after, keys, selection),
  ]
  // An offer that is not read has a price of at least `cap.stored` plus the least shift, or at most plus the greatest.
  const precedesRest = shift
    ? sql`AND (SELECT ${greatest}(k0) FROM probe) ${to} (SELECT stored FROM cap) + (SELECT ${shift.nearest} FROM shift)`
    : empty
  return sql`
    ${shift ? sql`shift AS MATERIALIZED (${priceShiftSql(selection.pricing)}),` : empty}
    cap AS MATERIALIZED (SELECT (
      SELECT ${stored} FROM offers o WHERE ${range} ORDER BY ${stored} ${direction} LIMIT 1 OFFSET ${offers}
    ) AS stored),
    probe AS MATERIALIZED (
      SELECT ${positionColumnsSql(selection, slice)} FROM offers o ${machineJoinSql(selection, fieldsOf(slice))}
      LEFT JOIN gpu_models g ON g.id = o.gpu_model_id CROSS JOIN LATERAL (SELECT o.gpu_model_id, o.num_gpus) k
      WHERE ${range} AND ${stored} ${to} (SELECT coalesce(stored, ${end}) FROM cap) AND ${andSql(matching)}
      ORDER BY ${positionOrderSql(slice)} LIMIT ${limit}
    ),
    probed AS MATERIALIZED (
      SELECT (SELECT stored FROM cap) IS NULL OR ((SELECT count(*) FROM probe) >= ${limit} ${precedesRest}) AS done
    )`
}

/** Skips offers that cannot be after the position. */
function startSql(selection: TimedSelection, slice: Slice): Prisma.Sql {
  const {
    after,
    keys: [first],
  } = slice
  if (!first || after?.[0] === undefined) return sql`true`
  const { stored, from, shift } = indexOrderOf(selection, slice.keys)
  const position = parameterSql(first.field, after[0])
  return sql`${stored} ${from} ${position} ${shift ? sql`- (SELECT ${shift.farthest} FROM shift)` : empty}`
}
