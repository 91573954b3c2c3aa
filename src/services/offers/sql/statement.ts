// The search statement. A kind of offer is a GPU model and count. The search indexes
// (offers_by_price, offers_by_bid, offers_by_score: see the first migration) begin with rentable, verified, model and
// count, so each has up to four ranges for a kind: verified or not, rentable or not. The statement reads the front of each range that can match, and merges the fronts.
// PostgreSQL checks filters on indexed columns in the index, without visiting rows. At a million offers, a plain query
// is hundreds of times slower.

import { Prisma } from '../../../database/generated/client.ts'
import { mbHoursPerGbMonth } from '../../../domain/money.ts'
import type { FieldValue, OfferField } from '../../../domain/offers/fields.ts'
import { meetsCondition, type OfferFilter } from '../../../domain/offers/filter.ts'
import { defaultDiskMb, type Pricing } from '../../../domain/offers/offers.ts'
import type { OrderKey } from '../../../domain/offers/order.ts'
import { fieldColumnOf, storedPriceSql } from './columns.ts'
import { andSql, conditionSql, filterSql } from './filter.ts'
import { afterPositionSql, orderColumnSql, orderWithinKind } from './order.ts'

const { sql, join, raw, empty } = Prisma

type TimedSelection = { filter: OfferFilter; pricing: Pricing; bundled: boolean; nowSql: Prisma.Sql }
/** `limit` rows in the order of `keys`, from the first or from after a position. */
export type Slice = { keys: OrderKey[]; after: FieldValue[] | undefined; limit: number }

/** Reads `columns` of the offers in the slice and, last, the time of the read. */
export function searchStatement(search: TimedSelection, slice: Slice, columns: Prisma.Sql): Prisma.Sql {
  const order = positionOrderSql(slice)
  return sql`
    WITH page AS (
      ${isPinned(search) ? pinnedOffersSql(search, slice) : frontsSql(search, slice)} ORDER BY ${order} LIMIT ${slice.limit}
    )
    SELECT ${columns}, ${search.nowSql} FROM page JOIN offers o ON o.id = offer_id
    JOIN machines m ON m.id = o.machine_id JOIN gpu_models g ON g.id = o.gpu_model_id
    ORDER BY ${order}`
}

export function countStatement(search: TimedSelection): Prisma.Sql {
  if (isPinned(search)) return sql`SELECT count(*)::int ${fromAllMatchesSql(search)}`
  return sql`
    SELECT coalesce(sum(matching.count), 0)::int FROM ${indexRangesSql(search)}
    CROSS JOIN LATERAL (
      SELECT count(*) ${fromIndexRangeSql(usesMachine(search, []))} AND ${andSql(offerConditionsSql(search))}
    ) matching
    WHERE ${andSql(kindConditionsSql(search))}`
}

/** The offer's id, and its values of the order keys as k0, k1 and so on. */
function positionColumnsSql(search: TimedSelection, { keys }: Slice): Prisma.Sql {
  const columns = keys.map(({ field }, index) => sql`${orderColumnSql(field, search)} AS ${raw(`k${index}`)}`)
  return sql`o.id AS offer_id, ${join(columns)}`
}

function positionOrderSql({ keys }: Slice): Prisma.Sql {
  return raw(keys.map(({ direction }, index) => `k${index} ${direction}`).join(', '))
}

/**
 * Whether the filter names offers, machines or hosts. Few offers match then, and PostgreSQL finds them by these ids.
 */
function isPinned({ filter }: TimedSelection): boolean {
  const pins: OfferField[] = ['id', 'machineId', 'hostId']
  return filter.conditions.some(
    ({ field, operator }) => pins.includes(field) && (operator === 'eq' || operator === 'in'),
  )
}

function pinnedOffersSql(search: TimedSelection, slice: Slice): Prisma.Sql {
  const after = andSql(afterPositionSql(slice.after, slice.keys, search))
  return sql`SELECT ${positionColumnsSql(search, slice)} ${fromAllMatchesSql(search)} AND ${after}`
}

/** All offers that match, without the index ranges. Ends in a WHERE: append conditions with AND. */
function fromAllMatchesSql(search: TimedSelection): Prisma.Sql {
  return sql`FROM offers o JOIN machines m ON m.id = o.machine_id JOIN gpu_models g ON g.id = o.gpu_model_id
    JOIN offer_kinds k ON k.gpu_model_id = o.gpu_model_id AND k.num_gpus = o.num_gpus
    WHERE o.withdrawn_at IS NULL AND ${andSql([...kindConditionsSql(search), ...offerConditionsSql(search)])}`
}

function frontsSql(search: TimedSelection, slice: Slice): Prisma.Sql {
  const { keys, after, limit } = slice
  const matching = andSql([...offerConditionsSql(search), ...afterPositionSql(after, keys, search)])
  const fromRangeMatches = sql`${fromIndexRangeSql(usesMachine(search, keys))} AND ${matching}`
  const withinKind = orderWithinKind(keys, search)
  const order = withinKind.map(({ field, direction }) => sql`${orderColumnSql(field, search)} ${raw(direction)}`)
  const bounds = priceBoundsSql(search, slice, fromRangeMatches, withinKind)
  return sql`
    SELECT front.* FROM ${indexRangesSql(search)} ${bounds.join}
    CROSS JOIN LATERAL (
      SELECT ${positionColumnsSql(search, slice)} ${fromRangeMatches} ${bounds.condition} ORDER BY ${join(order)} LIMIT ${limit}
    ) front
    WHERE ${andSql(kindConditionsSql(search))}`
}

/** The index ranges that can have matches. */
function indexRangesSql({ filter }: TimedSelection): Prisma.Sql {
  const possible = (field: OfferField) => {
    const conditions = filter.conditions.filter(condition => condition.field === field)
    return [true, false].filter(value => conditions.every(condition => meetsCondition(value, condition)))
  }
  // The stored flag stays true when `listed_until` passes, so the range of rentable offers contains some offers that
  // are not rentable.
  const rentable = possible('rentable').includes(false) ? [true, false] : possible('rentable')
  return sql`offer_kinds k JOIN gpu_models g ON g.id = k.gpu_model_id
    CROSS JOIN unnest(${rentable}::boolean[]) AS r(rentable)
    CROSS JOIN unnest(${possible('verified')}::boolean[]) AS v(verified)`
}

function isKindField(field: OfferField, search: TimedSelection): boolean {
  return fieldColumnOf(field, search).scope === 'kind'
}

function kindConditionsSql(search: TimedSelection): Prisma.Sql[] {
  const conditions = search.filter.conditions.filter(({ field }) => isKindField(field, search))
  return conditions.map(condition => conditionSql(condition, search))
}

/** All that `kindConditionsSql` leaves: conditions on offers and machines, the alternatives, and the bundle. */
function offerConditionsSql(search: TimedSelection): Prisma.Sql[] {
  const { bundled, pricing, filter } = search
  const conditions = filter.conditions.filter(({ field }) => !isKindField(field, search))
  // The offer that stands for its bundle. Bids have prices of their own, and so bundles of their own.
  const leads = raw(pricing.type === 'onDemand' ? 'o.leads' : 'o.leads_bids')
  return [...(bundled ? [leads] : []), ...filterSql({ ...filter, conditions }, search)]
}

/** One index range. Joins machines only if asked to. Ends in a WHERE: append conditions with AND. */
function fromIndexRangeSql(withMachine: boolean): Prisma.Sql {
  const machine = withMachine ? sql`JOIN machines m ON m.id = o.machine_id` : empty
  return sql`FROM offers o ${machine} WHERE o.withdrawn_at IS NULL AND o.rentable = r.rentable AND o.verified = v.verified
    AND o.gpu_model_id = k.gpu_model_id AND o.num_gpus = k.num_gpus`
}

function usesMachine(search: TimedSelection, keys: OrderKey[]): boolean {
  const inFilter = ({ conditions, anyOf }: OfferFilter): boolean =>
    [...conditions, ...keys].some(({ field }) => fieldColumnOf(field, search).scope === 'machine') || anyOf.some(inFilter)
  return inFilter(search.filter)
}

/**
 * Bounds an index range for a disk of another size. The index has the order of prices with the default disk, and
 * another disk shifts each price by `low` to `high`. `worst` is the worst shifted price of the first `limit` offers in index
 * order: no offer of the page is worse. Ascending, an offer can be on the page only if its stored price + `low` is at most
 * `worst`; descending, only if its stored price + `high` is at least `worst`.
 */
function priceBoundsSql(search: TimedSelection, { limit }: Slice, fromRangeMatches: Prisma.Sql, withinKind: OrderKey[]) {
  const { pricing } = search
  const [first] = withinKind
  if (first?.field !== 'pricePerHour' || pricing.diskMb === defaultDiskMb) return { join: empty, condition: empty }
  const stored = storedPriceSql(pricing)
  const ascending = first.direction === 'asc'
  const extraMb = pricing.diskMb - defaultDiskMb
  const divisor = raw(String(mbHoursPerGbMonth))
  // Two nano-dollars of slack: both prices and the shift are rounded.
  return {
    join: sql`
      CROSS JOIN (
        SELECT least(cheapest, dearest) - 2 AS low, greatest(cheapest, dearest) + 2 AS high FROM (
          SELECT min(storage_nanos) * ${extraMb}::bigint / ${divisor} AS cheapest,
            max(storage_nanos) * ${extraMb}::bigint / ${divisor} AS dearest FROM machines
        ) extremes
      ) shift
      CROSS JOIN LATERAL (
        SELECT ${raw(ascending ? 'max' : 'min')}(price) AS worst FROM (
          SELECT ${fieldColumnOf('pricePerHour', search).sql} AS price ${fromRangeMatches}
          ORDER BY ${stored} ${raw(first.direction)}, o.id LIMIT ${limit}
        ) nearest
      ) reach`,
    condition: ascending ? sql`AND ${stored} <= worst - low` : sql`AND ${stored} >= worst - high`,
  }
}
