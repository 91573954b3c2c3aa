// The front of the whole market: the rentable offers of all kinds in the order of one of the indexes offers_cheapest,
// offers_cheapest_bids, offers_best, offers_fastest and offers_fastest_per_dollar, or of their ids. It has a page of every
// search that names no GPU model and matches at least some offers in a hundred.

import { Prisma } from '../../../database/generated/client.ts'
import type { OfferField } from '../../../domain/offers/fields.ts'
import { defaultDiskMb } from '../../../domain/offers/offers.ts'
import type { OrderKey } from '../../../domain/offers/order.ts'
import { andSql, parameterSql } from './filter.ts'
import { possibleValues } from './fronts.ts'
import { indexOrderOf } from './index-order.ts'
import { afterPositionSql } from './order.ts'
import {
  fieldsOf,
  kindConditionsSql,
  limitSql,
  machineJoinSql,
  offerConditionsSql,
  positionColumnsSql,
  positionOrderSql,
  type Slice,
  type TimedSelection,
} from './selection.ts'

const { sql, raw, empty } = Prisma

const ordered: OfferField[] = ['pricePerHour', 'gpuPricePerHour', 'minimumBidPerHour', 'score', 'dlperf', 'id']

/** Whether an index has the offers in the order of the slice, or nearly so: another disk shifts prices. */
export function hasMarketFront(selection: TimedSelection, { keys: [first] }: Slice): boolean {
  const { rentalKind, diskMb } = selection.pricing
  const isStored = rentalKind === 'onDemand' && diskMb === defaultDiskMb
  const isOrdered =
    first !== undefined && (ordered.includes(first.field) || (isStored && first.field === 'dlperfPerDollar'))
  return isOrdered && !possibleValues('rentable', selection).includes(false)
}

/** Whether the index has the order only nearly, so that a page is certain only after many more offers. */
export function isShifted(selection: TimedSelection, { keys: [first] }: Slice): boolean {
  return first !== undefined && indexOrderOf(first, selection).shift !== undefined
}

/**
 * Common table expressions: `probe` has the first matches among the `offers` next offers of the market, and
 * `probed.done` says whether these are the page. The names begin with the prefix.
 */
export function marketFrontSql(selection: TimedSelection, slice: Slice, offers: Prisma.Sql, prefix = ''): Prisma.Sql {
  const named = (name: string) => raw(`${prefix}${name}`)
  const [cap, probe, probed, shifted] = [named('cap'), named('probe'), named('probed'), named('shift')] as const
  const { keys, after } = slice
  const firstKey = keys[0] ?? { field: 'pricePerHour', direction: 'asc' }
  const { stored, shift, direction, before, to, end, last } = indexOrderOf(firstKey, selection)
  const listed = sql`o.withdrawn_at IS NULL AND o.rentable`
  const start = startSql(firstKey, after, selection, shifted)
  // The index of ids has all offers. One that is withdrawn or rented counts as read, so that the walk ends.
  const counted = firstKey.field === 'id' ? start : sql`${listed} AND ${start}`
  const matching = andSql([
    ...kindConditionsSql(selection),
    ...offerConditionsSql(selection),
    ...afterPositionSql(after, keys, selection),
  ])
  const atMost = sql`${stored} ${to} (SELECT coalesce(stored, ${end}) FROM ${cap})`
  // The index has not the order of the page, so only a number of offers keeps PostgreSQL from reading all of them.
  const front = shift
    ? sql`(SELECT * FROM offers o WHERE ${listed} AND ${start} ORDER BY ${stored} ${direction} LIMIT ${offers}) o`
    : sql`offers o`
  // An offer that is not read has a price of at least `cap.stored` plus the least shift, or at most plus the greatest.
  const precedesRest = shift
    ? sql`AND (SELECT ${last}(k0) FROM ${probe}) ${before} (SELECT stored FROM ${cap}) + (SELECT ${shift.nearest} FROM ${shifted})`
    : empty
  return sql`
    ${shift ? sql`${shifted} AS MATERIALIZED (${shift.tableSql}),` : empty}
    ${cap} AS MATERIALIZED (SELECT (
      SELECT ${stored} FROM offers o WHERE ${counted} ORDER BY ${stored} ${direction} LIMIT 1 OFFSET ${offers}
    ) AS stored),
    ${probe} AS MATERIALIZED (
      SELECT ${positionColumnsSql(selection, slice)} FROM ${front} ${machineJoinSql(selection, fieldsOf(slice))}
      LEFT JOIN gpu_models g ON g.id = o.gpu_model_id CROSS JOIN LATERAL (SELECT o.gpu_model_id, o.num_gpus) k
      WHERE ${matching} ${shift ? empty : sql`AND ${listed} AND ${start} AND ${atMost}`}
      ORDER BY ${positionOrderSql(slice)} LIMIT ${limitSql(slice)}
    ),
    ${probed} AS MATERIALIZED (
      SELECT (SELECT stored FROM ${cap}) IS NULL OR ((SELECT count(*) FROM ${probe}) >= ${limitSql(slice)} ${precedesRest}) AS done
    )`
}

/** Skips offers that cannot be after the position. */
function startSql(
  firstKey: OrderKey,
  after: Slice['after'],
  selection: TimedSelection,
  shifted: Prisma.Sql,
): Prisma.Sql {
  if (after?.[0] === undefined) return sql`true`
  const { stored, from, shift } = indexOrderOf(firstKey, selection)
  const position = parameterSql(firstKey.field, after[0], selection)
  return sql`${stored} ${from} ${position} ${shift ? sql`- (SELECT ${shift.farthest} FROM ${shifted})` : empty}`
}
