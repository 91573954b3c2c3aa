// Searches in the order of a fact of machines, such as their bandwidth.

import { Prisma } from '../../../database/generated/client.ts'
import { defaultDiskMb } from '../../../domain/offers/offers.ts'
import { fieldColumnOf, storedPriceSql } from './columns.ts'
import { andSql, parameterSql } from './filter.ts'
import { possibleValues } from './fronts.ts'
import { fromMachinesSql, machinesSql } from './machines-first.ts'
import { afterPositionSql } from './order.ts'
import {
  kindConditionsSql,
  offerConditionsSql,
  positionColumnsSql,
  positionOrderSql,
  type Slice,
  type TimedSelection,
} from './selection.ts'

const { sql, raw, empty } = Prisma

const directions = {
  asc: { from: raw('>='), before: raw('<'), direction: raw('ASC'), last: raw('max') },
  desc: { from: raw('<='), before: raw('>'), direction: raw('DESC'), last: raw('min') },
}

/** The fact of machines that the order begins with. */
function factOf(selection: TimedSelection, { keys: [first] }: Slice): Prisma.Sql | undefined {
  const { scope, machineSql } = fieldColumnOf(first?.field ?? 'pricePerHour', selection)
  return scope === 'kind' ? undefined : machineSql
}

export function ordersByMachines(selection: TimedSelection, slice: Slice): boolean {
  return factOf(selection, slice) !== undefined
}

/**
 * Common table expressions: `few` has the first machines of the order, and `ahead` the offers of those that no machine
 * beyond `few` equals. If many machines share the last fact, `tied` has the cheapest offers of these, as far as they are
 * among the cheapest of the market. `probed.done` says whether `probe` has the page.
 */
export function machineOrderSql(selection: TimedSelection, slice: Slice): Prisma.Sql {
  const { keys, after, limit } = slice
  const fact = factOf(selection, slice) ?? sql`NULL`
  const { from, before, direction, last } = directions[keys[0]?.direction ?? 'asc']
  const machines = Math.ceil(selection.limits.machines / 3)
  const start =
    keys[0] && after?.[0] !== undefined ? sql`AND ${fact} ${from} ${parameterSql(keys[0].field, after[0])}` : empty
  const afterwards = andSql(afterPositionSql(after, keys, selection))
  const page = sql`ORDER BY ${positionOrderSql(slice)} LIMIT ${limit}`
  return sql`
    few AS MATERIALIZED (${machinesSql(selection)} ${start} ORDER BY ${fact} ${direction} LIMIT ${machines + 1}),
    last AS MATERIALIZED (SELECT CASE WHEN count(*) > ${machines} THEN ${last}(${fact}) END AS fact FROM few m),
    ahead AS MATERIALIZED (
      SELECT ${positionColumnsSql(selection, slice)} ${fromMachinesSql(selection, raw('few'))} AND ${afterwards}
        AND ((SELECT fact FROM last) IS NULL OR ${fact} ${before} (SELECT fact FROM last)) ${page}
    ),
    tied AS MATERIALIZED (
      ${tiedSql(selection, slice, sql`${fact} = (SELECT fact FROM last) AND ${afterwards}`)}
    ),
    probe AS (SELECT * FROM ahead UNION ALL SELECT * FROM tied),
    probed AS MATERIALIZED (SELECT (SELECT fact FROM last) IS NULL OR (SELECT count(*) FROM probe) >= ${limit} AS done)`
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
  const rest = raw(
    slice.keys
      .slice(2)
      .map(({ direction }, index) => `k${index + 2} ${direction}`)
      .join(', ') || 'o.id',
  )
  // If more machines share a fact than `few` has, some of their offers are among these.
  const cap = sql`SELECT coalesce((
    SELECT ${stored} FROM offers o WHERE o.withdrawn_at IS NULL AND o.rentable ORDER BY ${stored} LIMIT 1 OFFSET ${2 * limits.offers}
  ), ${raw(String(2n ** 63n - 1n))})`
  return sql`
    SELECT * FROM (
      SELECT ${positionColumnsSql(selection, slice)}
      FROM offers o JOIN machines m ON m.id = o.machine_id JOIN gpu_models g ON g.id = o.gpu_model_id
      CROSS JOIN LATERAL (SELECT o.gpu_model_id, o.num_gpus) k
      WHERE o.withdrawn_at IS NULL AND o.rentable AND ${stored} <= (${cap}) AND ${condition}
        AND ${andSql([...kindConditionsSql(selection), ...offerConditionsSql(selection)])}
      ORDER BY ${stored}, ${rest} LIMIT ${slice.limit}
    ) cheapest WHERE (SELECT fact FROM last) IS NOT NULL AND (SELECT count(*) FROM ahead) < ${slice.limit}`
}
