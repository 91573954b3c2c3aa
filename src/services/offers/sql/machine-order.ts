// Searches in the order of a fact of machines, such as their bandwidth, or of a figure that a fact bounds.

import { Prisma } from '../../../database/generated/client.ts'
import { defaultDiskMb } from '../../../domain/offers/offers.ts'
import { storedPriceSql } from './columns.ts'
import { andSql, parameterSql } from './filter.ts'
import { possibleValues } from './fronts.ts'
import { directions } from './index-order.ts'
import { type MachineBound, machineBoundOf } from './machine-bounds.ts'
import { fromFilteredMachinesSql, fromMachinesSql, machineColumnsSql } from './machines-first.ts'
import { afterPositionSql, orderColumnSql } from './order.ts'
import {
  kindConditionsSql,
  limitSql,
  offerConditionsSql,
  positionColumnsSql,
  positionOrderSql,
  type Slice,
  type TimedSelection,
} from './selection.ts'

const { sql, raw, empty } = Prisma

/** The bound of the key that the order begins with. */
function boundOf(selection: TimedSelection, { keys: [first] }: Slice): MachineBound | undefined {
  return first && machineBoundOf(first, selection)
}

export function ordersByMachines(selection: TimedSelection, slice: Slice): boolean {
  return boundOf(selection, slice) !== undefined
}

/**
 * Common table expressions: `few` has the first machines of the order, and `next` the bound of the machines beyond them.
 * `reach` is the worst value among some matches, enough for a page. `ahead` has the page among the offers that no other
 * machine equals. If many machines share the bound `next`, `tied` has the cheapest offers of that value, as far as they are
 * among the cheapest of the market. `probed.done` says whether `probe` has the page.
 */
export function machineOrderSql(selection: TimedSelection, slice: Slice): Prisma.Sql {
  const { keys, after } = slice
  const limit = limitSql(slice)
  const [firstKey = { field: 'id', direction: 'asc' }] = keys
  const { bound, readBy, isFact } = boundOf(selection, slice) ?? { bound: raw('0'), readBy: raw('m.id'), isFact: true }
  const { from, to, before, direction, last } = directions[firstKey.direction]
  // Numbers in the text are known to a plan that is made for any values.
  const machines = Math.ceil(selection.limits.machines / 3)
  const start =
    isFact && after?.[0] !== undefined
      ? sql`AND ${bound} ${from} ${parameterSql(firstKey.field, after[0], selection)}`
      : empty
  const afterwards = andSql(afterPositionSql(after, keys, selection))
  const value = orderColumnSql(firstKey.field, selection)
  const next = sql`(SELECT value FROM next)`
  const early = sql`(${next} IS NULL OR few.bound ${before} ${next})`
  const fromFew = (condition: Prisma.Sql) => fromMachinesSql(selection, sql`(SELECT * FROM few WHERE ${condition})`)
  const reached = sql`${early} AND coalesce(few.bound ${to} (SELECT value FROM reach), true)`
  return sql`
    few AS MATERIALIZED (
      SELECT ${machineColumnsSql(selection, slice)}, ${bound} AS bound ${fromFilteredMachinesSql(selection)} ${start} ORDER BY ${readBy} ${direction} LIMIT ${raw(String(machines + 1))}
    ),
    next AS MATERIALIZED (SELECT CASE WHEN count(*) > ${raw(String(machines))} THEN ${last}(bound) END AS value FROM few),
    reach AS MATERIALIZED (
      SELECT CASE WHEN count(*) = ${limit} THEN ${last}(value) END AS value FROM (
        SELECT ${value} AS value ${fromFew(early)} AND ${afterwards} LIMIT ${limit}
      ) first_matches
    ),
    ahead AS MATERIALIZED (
      SELECT ${positionColumnsSql(selection, slice)} ${fromFew(reached)} AND ${afterwards}
        AND (${next} IS NULL OR ${value} ${before} ${next})
      ORDER BY ${positionOrderSql(slice)} LIMIT ${limit}
    ),
    tied AS MATERIALIZED (
      ${tiedSql(selection, slice, sql`${value} = ${next} AND ${afterwards}`)}
    ),
    probe AS (SELECT * FROM ahead UNION ALL SELECT * FROM tied),
    probed AS MATERIALIZED (SELECT ${next} IS NULL OR (SELECT count(*) FROM probe) >= ${limit} AS done)`
}

/** The index of the market has them only by price with the default disk. */
function tiedSql(selection: TimedSelection, slice: Slice, condition: Prisma.Sql): Prisma.Sql {
  const { pricing, limits } = selection
  const [, second] = slice.keys
  const isCheapestFirst = second?.field === 'pricePerHour' && second.direction === 'asc'
  if (!isCheapestFirst || pricing.diskMb !== defaultDiskMb || possibleValues('rentable', selection).includes(false)) {
    return sql`SELECT * FROM ahead WHERE false`
  }
  const stored = storedPriceSql(pricing)
  const lastKeys = raw(
    slice.keys
      .slice(2)
      .map(({ direction }, index) => `k${index + 2} ${direction}`)
      .join(', ') || 'o.id',
  )
  // If more machines share a value than `few` has, some of their offers are among these.
  const offers = 2 * limits.offers
  const listed = sql`o.withdrawn_at IS NULL AND o.rentable`
  const cap = sql`SELECT coalesce((
    SELECT ${stored} FROM offers o WHERE ${listed} ORDER BY ${stored} LIMIT 1 OFFSET ${raw(String(offers))}
  ), ${raw(String(2n ** 63n - 1n))})`
  // All matches are rentable: checked beside the index, so that no row is read for it.
  const conditions = selection.filter.conditions.filter(({ field }) => field !== 'rentable')
  const rest = { ...selection, filter: { ...selection.filter, conditions } }
  const rentable = sql`${listed} AND o.listed_until > ${selection.nowSql}`
  // Fewer than LIMIT are below the cap. It has PostgreSQL walk the index, whatever it expects.
  return sql`
    SELECT * FROM (
      SELECT ${positionColumnsSql(selection, slice)}
      FROM (SELECT * FROM offers o WHERE ${rentable} AND ${stored} < (${cap}) ORDER BY ${stored} LIMIT ${raw(String(offers + 1))}) o
      JOIN machines m ON m.id = o.machine_id JOIN gpu_models g ON g.id = o.gpu_model_id
      CROSS JOIN LATERAL (SELECT o.gpu_model_id, o.num_gpus) k
      WHERE ${condition} AND ${andSql([...kindConditionsSql(rest), ...offerConditionsSql(rest)])}
      ORDER BY ${stored}, ${lastKeys} LIMIT ${limitSql(slice)}
    ) cheapest WHERE (SELECT value FROM next) IS NOT NULL AND (SELECT count(*) FROM ahead) < ${limitSql(slice)}`
}
