// The fronts of index ranges. A kind of offer is a GPU model and count. The indexes offers_by_price, offers_by_bid and
// offers_by_score begin with rentable, verified, model and count, so each has up to four ranges for a kind: verified or
// not, rentable or not. A search reads the front of each range that can match, at most a page of it, and merges the
// fronts. PostgreSQL checks filters on indexed columns in the index, without visiting rows.

import { Prisma } from '../../../database/generated/client.ts'
import type { OfferField } from '../../../domain/offers/fields.ts'
import { meetsCondition } from '../../../domain/offers/filter.ts'
import type { OrderKey } from '../../../domain/offers/order.ts'
import { andSql } from './filter.ts'
import { indexOrderOf } from './index-order.ts'
import { afterPositionSql, firstWithinKind, orderColumnSql, orderWithinKind } from './order.ts'
import {
  fieldsOf,
  kindConditionsSql,
  limitSql,
  machineJoinSql,
  offerConditionsSql,
  positionColumnsSql,
  type Slice,
  type TimedSelection,
} from './selection.ts'

const { sql, join, raw, empty } = Prisma

/** The front of each index range: the first `limit` offers of it that match. */
export function frontsSql(selection: TimedSelection, slice: Slice): Prisma.Sql {
  const { matches, order, bounds } = partsOf(selection, slice, empty)
  return sql`
    SELECT front.* FROM ${indexRangesSql(selection)} ${bounds.tables}
    CROSS JOIN LATERAL (
      SELECT ${positionColumnsSql(selection, slice)} ${matches} ${bounds.condition} ORDER BY ${order} LIMIT ${limitSql(slice)}
    ) front
    WHERE ${andSql(kindConditionsSql(selection))}`
}

/** Whether the ranges have the order of the slice, so that `cappedFrontsSql` can read the beginning of each. */
export function hasOrderedRanges(selection: TimedSelection, { keys }: Slice): boolean {
  const fields: OfferField[] = ['pricePerHour', 'gpuPricePerHour', 'minimumBidPerHour', 'score']
  return fields.includes(firstWithinKind(keys, selection).field)
}

/**
 * Common table expressions: `probe` has the fronts as far as the first offers of each range have them, and `probed.done` says
 * whether these are the whole fronts.
 */
export function cappedFrontsSql(selection: TimedSelection, slice: Slice): Prisma.Sql {
  const { stored, direction, to, end, shift } = indexOrderOf(firstWithinKind(slice.keys, selection), selection)
  const { matches, order, bounds } = partsOf(selection, slice, sql`AND ${stored} ${to} coalesce(cap.stored, ${end})`)
  const readsTooFar = shift ? sql`OR NOT bool_and(bound ${to} cap)` : empty
  return sql`
    probe AS MATERIALIZED (
      SELECT k.gpu_model_id, k.num_gpus, r.rentable, v.verified, cap.stored AS cap, ${bounds.last} AS bound, front.*
      FROM ${indexRangesSql(selection)}
      CROSS JOIN LATERAL (SELECT (
        SELECT ${stored} ${fromIndexRangeSql(empty)} ORDER BY ${stored} ${direction} LIMIT 1 OFFSET ${Math.ceil(selection.limits.offers / 4)}
      ) AS stored) cap ${bounds.tables}
      LEFT JOIN LATERAL (
        SELECT ${positionColumnsSql(selection, slice)} ${matches} ${bounds.condition} ORDER BY ${order} LIMIT ${limitSql(slice)}
      ) front ON true
      WHERE ${andSql(kindConditionsSql(selection))}
    ),
    probed AS MATERIALIZED (
      SELECT NOT EXISTS (
        SELECT FROM probe GROUP BY gpu_model_id, num_gpus, rentable, verified, cap
        HAVING cap IS NOT NULL AND (count(offer_id) < ${limitSql(slice)} ${readsTooFar})
      ) AS done
    )`
}

/** What a front reads of its range. `cap` is a condition that ends the range early. */
function partsOf(selection: TimedSelection, slice: Slice, cap: Prisma.Sql) {
  const { keys, after } = slice
  const matching = andSql([...offerConditionsSql(selection), ...afterPositionSql(after, keys, selection)])
  const matches = sql`${fromIndexRangeSql(machineJoinSql(selection, fieldsOf(slice)))} AND ${matching} ${cap}`
  const keysWithinKind = orderWithinKind(keys, selection)
  const order = keysWithinKind.map(({ field, direction }) => sql`${orderColumnSql(field, selection)} ${raw(direction)}`)
  return {
    matches,
    order: join(order),
    bounds: priceBoundsSql(selection, slice, matches, firstWithinKind(keys, selection)),
  }
}

/** Whether a flag of offers can be true, or false, for offers that match. */
export function possibleValues(field: 'rentable' | 'verified', { filter }: TimedSelection): boolean[] {
  const conditions = filter.conditions.filter(condition => condition.field === (field satisfies OfferField))
  return [true, false].filter(value => conditions.every(condition => meetsCondition(value, condition)))
}

/** The index ranges that can have matches. */
export function indexRangesSql(selection: TimedSelection): Prisma.Sql {
  // The stored flag stays true when `listed_until` passes, so the range of rentable offers contains some offers that
  // are not rentable.
  const rentable = possibleValues('rentable', selection)
  const ranges = rentable.includes(false) ? [true, false] : rentable
  return sql`offer_kinds k JOIN gpu_models g ON g.id = k.gpu_model_id
    CROSS JOIN unnest(${raw(`'{${ranges}}'`)}::boolean[]) AS r(rentable)
    CROSS JOIN unnest(${raw(`'{${possibleValues('verified', selection)}}'`)}::boolean[]) AS v(verified)`
}

/** One index range. Ends in a WHERE: append conditions with AND. */
function fromIndexRangeSql(machine: Prisma.Sql): Prisma.Sql {
  return sql`FROM offers o ${machine} WHERE o.withdrawn_at IS NULL AND o.rentable = r.rentable AND o.verified = v.verified
    AND o.gpu_model_id = k.gpu_model_id AND o.num_gpus = k.num_gpus`
}

/**
 * Bounds the part of an index range to read for a disk of another size: `tables` compute the bounds, `condition` applies
 * them. The index has the order of prices with the default disk, and another disk shifts each price by `shift.low` to
 * `shift.high`. `worst.price` is the worst shifted price of the first `limit` offers in index order: no offer of the page is
 * worse. Ascending, an offer can be on the page only if its stored price + `shift.low` is at most `worst.price`; descending,
 * only if its stored price + `shift.high` is at least `worst.price`.
 */
function priceBoundsSql(
  selection: TimedSelection,
  slice: Slice,
  fromRangeMatches: Prisma.Sql,
  firstKey: OrderKey,
): { tables: Prisma.Sql; condition: Prisma.Sql; last: Prisma.Sql } {
  const { column, stored, direction, last: worst, to, shift } = indexOrderOf(firstKey, selection)
  if (!shift) return { tables: empty, condition: empty, last: sql`NULL::bigint` }
  const last = sql`worst.price - shift.${shift.nearest}`
  return {
    tables: sql`
      CROSS JOIN (${shift.tableSql}) shift
      CROSS JOIN LATERAL (
        SELECT ${worst}(price) AS price FROM (
          SELECT ${column} AS price ${fromRangeMatches}
          ORDER BY ${stored} ${direction}, o.id LIMIT ${limitSql(slice)}
        ) first_offers
      ) worst`,
    condition: sql`AND ${stored} ${to} ${last}`,
    last,
  }
}
