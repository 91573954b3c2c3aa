// The search statement. A kind of offer is a GPU model and count. The search indexes
// (offers_by_price, offers_by_bid, offers_by_score: see the first migration) begin with rentable, verified, model and
// count, so each has up to four ranges for a kind: verified or not, rentable or not. The statement reads the front of
// each range that can match, at most a page of it, and merges the fronts. PostgreSQL checks filters on indexed columns
// in the index, without visiting rows. At a million offers, a plain query is hundreds of times slower.

import { Prisma } from '../../../database/generated/client.ts'
import type { Reading } from '../../../database/selection/reading.ts'
import { nameIfRepeated, withoutStatementName } from '../../../database/statement-names.ts'
import { mbHoursPerGbMonth } from '../../../domain/money.ts'
import type { FieldValue, OfferField } from '../../../domain/offers/fields.ts'
import { meetsCondition, type OfferFilter } from '../../../domain/offers/filter.ts'
import { defaultDiskMb, type Pricing } from '../../../domain/offers/offers.ts'
import type { OrderKey } from '../../../domain/offers/order.ts'
import { fieldColumnOf, storedPriceSql } from './columns.ts'
import { andSql, conditionSql, filterSql } from './filter.ts'
import { afterPositionSql, orderColumnSql, orderWithinKind } from './order.ts'

const { sql, join, raw, empty } = Prisma

/**
 * Which offers a search matches, without an order. `bundled` shows one offer for each bundle: a machine's offers with the
 * same GPU count and price that are all rentable, or all not rentable.
 */
export type OfferSelection = { filter: OfferFilter; pricing: Pricing; bundled: boolean }
/** A selection with the time that its conditions are checked at. */
export type TimedSelection = OfferSelection & { nowSql: Prisma.Sql }
/** `limit` rows in the order of `keys`, from the first or from after a position. */
export type Slice = { keys: OrderKey[]; after: FieldValue[] | undefined; limit: number }

/** Reads the offers of the slice, which can have the columns of `positionOfRowSql` beside them. */
export function searchStatement(
  selection: TimedSelection,
  slice: Slice,
  { columns, joins }: Pick<Reading<unknown>, 'columns' | 'joins'>,
): Prisma.Sql {
  const order = positionOrderSql(slice)
  const statement = sql`
    WITH page AS (
      ${isPinned(selection) ? pinnedOffersSql(selection, slice) : frontsSql(selection, slice)} ORDER BY ${order} LIMIT ${slice.limit}
    )
    SELECT ${columns} FROM page JOIN offers o ON o.id = offer_id ${joins} ORDER BY ${order}`
  return readsIndexRanges(selection, slice) ? nameIfRepeated(statement) : withoutStatementName(statement)
}

/** Whether the fronts of index ranges are the best plan, whatever the values. */
function readsIndexRanges(selection: TimedSelection, { keys }: Slice): boolean {
  return (
    !isPinned(selection) &&
    !usesMachine(
      selection,
      keys.map(({ field }) => field),
    )
  )
}

/** The position of an offer in the order of the slice: a column for each key. */
export function positionOfRowSql({ keys }: Slice, selection: TimedSelection): Prisma.Sql[] {
  return keys.map(({ field }, index) => raw(`page.${fieldColumnOf(field, selection).positionSql ? 'p' : 'k'}${index}`))
}

export function countStatement(selection: TimedSelection): Prisma.Sql {
  if (isPinned(selection)) return sql`SELECT count(*)::int AS count ${fromAllMatchesSql(selection)}`
  return sql`
    SELECT coalesce(sum(matching.count), 0)::int AS count FROM ${indexRangesSql(selection)}
    CROSS JOIN LATERAL (
      SELECT count(*) ${fromIndexRangeSql(usesMachine(selection, []))} AND ${andSql(offerConditionsSql(selection))}
    ) matching
    WHERE ${andSql(kindConditionsSql(selection))}`
}

/** All offers that match, as k, g and o; and m, if the fields need it. */
export function fromMatchesSql(selection: TimedSelection, fields: readonly OfferField[]): Prisma.Sql {
  if (isPinned(selection)) return fromAllMatchesSql(selection)
  const machine = usesMachine(selection, fields) ? sql`JOIN machines m ON m.id = o.machine_id` : empty
  return sql`FROM ${indexRangesSql(selection)}
    JOIN offers o ON o.withdrawn_at IS NULL AND o.rentable = r.rentable AND o.verified = v.verified
      AND o.gpu_model_id = k.gpu_model_id AND o.num_gpus = k.num_gpus ${machine}
    WHERE ${andSql([...kindConditionsSql(selection), ...offerConditionsSql(selection)])}`
}

/** The offer's id, and what the order keys compare as k0, k1 and so on. Also, as p0 and so on, what a cursor keeps instead. */
function positionColumnsSql(selection: TimedSelection, { keys }: Slice): Prisma.Sql {
  const columns = keys.flatMap(({ field }, index) => {
    const { positionSql } = fieldColumnOf(field, selection)
    const compared = sql`${orderColumnSql(field, selection)} AS ${raw(`k${index}`)}`
    return positionSql ? [compared, sql`${positionSql} AS ${raw(`p${index}`)}`] : [compared]
  })
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

function pinnedOffersSql(selection: TimedSelection, slice: Slice): Prisma.Sql {
  const after = andSql(afterPositionSql(slice.after, slice.keys, selection))
  return sql`SELECT ${positionColumnsSql(selection, slice)} ${fromAllMatchesSql(selection)} AND ${after}`
}

/** All offers that match, without the index ranges. Ends in a WHERE: append conditions with AND. */
function fromAllMatchesSql(selection: TimedSelection): Prisma.Sql {
  return sql`FROM offers o JOIN machines m ON m.id = o.machine_id JOIN gpu_models g ON g.id = o.gpu_model_id
    JOIN offer_kinds k ON k.gpu_model_id = o.gpu_model_id AND k.num_gpus = o.num_gpus
    WHERE o.withdrawn_at IS NULL AND ${andSql([...kindConditionsSql(selection), ...offerConditionsSql(selection)])}`
}

/** The front of each index range: the first `limit` offers of it that match. */
function frontsSql(selection: TimedSelection, slice: Slice): Prisma.Sql {
  const { keys, after, limit } = slice
  const matching = andSql([...offerConditionsSql(selection), ...afterPositionSql(after, keys, selection)])
  const fromRangeMatches = sql`${fromIndexRangeSql(
    usesMachine(
      selection,
      keys.map(({ field }) => field),
    ),
  )} AND ${matching}`
  const keysWithinKind = orderWithinKind(keys, selection)
  const order = keysWithinKind.map(({ field, direction }) => sql`${orderColumnSql(field, selection)} ${raw(direction)}`)
  const bounds = priceBoundsSql(selection, slice, fromRangeMatches, keysWithinKind)
  return sql`
    SELECT front.* FROM ${indexRangesSql(selection)} ${bounds.tables}
    CROSS JOIN LATERAL (
      SELECT ${positionColumnsSql(selection, slice)} ${fromRangeMatches} ${bounds.condition} ORDER BY ${join(order)} LIMIT ${limit}
    ) front
    WHERE ${andSql(kindConditionsSql(selection))}`
}

/** The index ranges that can have matches. */
function indexRangesSql({ filter }: TimedSelection): Prisma.Sql {
  const possibleValues = (field: OfferField) => {
    const conditions = filter.conditions.filter(condition => condition.field === field)
    return [true, false].filter(value => conditions.every(condition => meetsCondition(value, condition)))
  }
  // The stored flag stays true when `listed_until` passes, so the range of rentable offers contains some offers that
  // are not rentable.
  const rentable = possibleValues('rentable').includes(false) ? [true, false] : possibleValues('rentable')
  return sql`offer_kinds k JOIN gpu_models g ON g.id = k.gpu_model_id
    CROSS JOIN unnest(${raw(`'{${rentable}}'`)}::boolean[]) AS r(rentable)
    CROSS JOIN unnest(${raw(`'{${possibleValues('verified')}}'`)}::boolean[]) AS v(verified)`
}

function isKindField(field: OfferField, selection: TimedSelection): boolean {
  return fieldColumnOf(field, selection).scope === 'kind'
}

function kindConditionsSql(selection: TimedSelection): Prisma.Sql[] {
  const conditions = selection.filter.conditions.filter(({ field }) => isKindField(field, selection))
  return conditions.map(condition => conditionSql(condition, selection))
}

/** All that `kindConditionsSql` leaves: conditions on offers and machines, the alternatives, and the bundle. */
function offerConditionsSql(selection: TimedSelection): Prisma.Sql[] {
  const { bundled, pricing, filter } = selection
  const conditions = filter.conditions.filter(({ field }) => !isKindField(field, selection))
  // The offer that stands for its bundle. Bids have prices of their own, and so bundles of their own.
  const leadsBundle = raw(pricing.rentalKind === 'onDemand' ? 'o.leads' : 'o.leads_bids')
  return [...(bundled ? [leadsBundle] : []), ...filterSql({ ...filter, conditions }, selection)]
}

/** One index range. Joins machines only if asked to. Ends in a WHERE: append conditions with AND. */
function fromIndexRangeSql(withMachine: boolean): Prisma.Sql {
  const machine = withMachine ? sql`JOIN machines m ON m.id = o.machine_id` : empty
  return sql`FROM offers o ${machine} WHERE o.withdrawn_at IS NULL AND o.rentable = r.rentable AND o.verified = v.verified
    AND o.gpu_model_id = k.gpu_model_id AND o.num_gpus = k.num_gpus`
}

function usesMachine(selection: TimedSelection, fields: readonly OfferField[]): boolean {
  const isOfMachine = (field: OfferField) => fieldColumnOf(field, selection).scope === 'machine'
  const inFilter = ({ conditions, anyOf }: OfferFilter): boolean =>
    conditions.some(({ field }) => isOfMachine(field)) || anyOf.some(inFilter)
  return fields.some(isOfMachine) || inFilter(selection.filter)
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
  { limit }: Slice,
  fromRangeMatches: Prisma.Sql,
  keysWithinKind: OrderKey[],
): { tables: Prisma.Sql; condition: Prisma.Sql } {
  const { pricing } = selection
  const [first] = keysWithinKind
  if (first?.field !== 'pricePerHour' || pricing.diskMb === defaultDiskMb) return { tables: empty, condition: empty }
  const stored = storedPriceSql(pricing)
  const ascending = first.direction === 'asc'
  const extraMb = pricing.diskMb - defaultDiskMb
  const divisor = raw(String(mbHoursPerGbMonth))
  // `extraMb` is negative for a smaller disk, so the shift at the lowest disk price can be the higher one. Two
  // nano-dollars of slack: both prices and the shift are rounded.
  return {
    tables: sql`
      CROSS JOIN (
        SELECT least(at_min, at_max) - 2 AS low, greatest(at_min, at_max) + 2 AS high FROM (
          SELECT min(disk_price_per_gb_month_nanos) * ${extraMb}::bigint / ${divisor} AS at_min,
            max(disk_price_per_gb_month_nanos) * ${extraMb}::bigint / ${divisor} AS at_max FROM machines
        ) shifts
      ) shift
      CROSS JOIN LATERAL (
        SELECT ${raw(ascending ? 'max' : 'min')}(price) AS price FROM (
          SELECT ${fieldColumnOf('pricePerHour', selection).sql} AS price ${fromRangeMatches}
          ORDER BY ${stored} ${raw(first.direction)}, o.id LIMIT ${limit}
        ) first_offers
      ) worst`,
    condition: ascending
      ? sql`AND ${stored} <= worst.price - shift.low`
      : sql`AND ${stored} >= worst.price - shift.high`,
  }
}
