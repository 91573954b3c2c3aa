// The statements of searches. A search takes its page from the first of its ways that has it: see ways.ts.

import { Prisma } from '../../../database/generated/client.ts'
import type { Reading } from '../../../database/selection/reading.ts'
import { nameIfRepeated, withoutStatementName } from '../../../database/statement-names.ts'
import type { OfferField } from '../../../domain/offers/fields.ts'
import { alternativesOf } from '../../../domain/offers/filter.ts'
import { fieldColumnOf } from './columns.ts'
import { andSql } from './filter.ts'
import { indexRangesSql } from './fronts.ts'
import { ordersByMachines } from './machine-order.ts'
import { fromMachinesSql, machinesSql, narrowsToMachines } from './machines-first.ts'
import { afterPositionSql } from './order.ts'
import {
  fieldsOf,
  isPinned,
  kindConditionsSql,
  limitSql,
  machineConditionsSql,
  machineJoinSql,
  offerConditionsSql,
  positionColumnsSql,
  positionOrderSql,
  type Slice,
  type TimedSelection,
  usesMachine,
} from './selection.ts'
import { firstMatchesSql } from './ways.ts'

const { sql, join, raw } = Prisma

/** Reads the offers of the slice, which can have the columns of `positionOfRowSql` beside them. */
export function searchStatement(
  selection: TimedSelection,
  slice: Slice,
  { columns, joins }: Pick<Reading<unknown>, 'columns' | 'joins'>,
): Prisma.Sql {
  const order = positionOrderSql(slice)
  const isPlannedOnce = hasOnePlan(selection, slice)
  const statement = sql`
    WITH page AS (
      ${candidatesSql(isPlannedOnce ? withHiddenValues(selection) : selection, slice)} ORDER BY ${order} LIMIT ${limitSql(slice)}
    )
    SELECT ${columns} FROM page JOIN offers o ON o.id = offer_id ${joins} ORDER BY ${order}`
  return isPlannedOnce ? nameIfRepeated(statement) : withoutStatementName(statement)
}

/**
 * PostgreSQL plans a named statement for its values each time if it expects that to save more than planning costs. It expects
 * nothing of values from a subquery, which is evaluated once.
 */
function withHiddenValues(selection: TimedSelection): TimedSelection {
  const valueSql = (value: Prisma.Sql) => sql`(SELECT ${value})`
  return { ...selection, valueSql, nowSql: valueSql(selection.nowSql) }
}

/** Whether the plan of the statement is the best one whatever the values. */
function hasOnePlan(selection: TimedSelection, slice: Slice): boolean {
  // The machines that come first in an order are found in an index, unless a filter leaves few.
  const readsFirst = ordersByMachines(selection, slice) && machineConditionsSql(selection).length === 0
  return (
    !isPinned(selection) &&
    !usesMachine(selection, readsFirst ? [] : fieldsOf(slice)) &&
    (readsFirst || !ordersByMachines(selection, slice)) &&
    !alternativesOf(selection.filter).some(filter => narrowsToMachines({ ...selection, filter }))
  )
}

/** The position of an offer in the order of the slice: a column for each key. */
export function positionOfRowSql({ keys }: Slice, selection: TimedSelection): Prisma.Sql[] {
  return keys.map(({ field }, index) => raw(`page.${fieldColumnOf(field, selection).positionSql ? 'p' : 'k'}${index}`))
}

/** Matching offers with their positions, among them all of the slice. */
function candidatesSql(selection: TimedSelection, slice: Slice): Prisma.Sql {
  if (isPinned(selection)) return pinnedOffersSql(selection, slice)
  const alternatives = alternativesOf(selection.filter)
  if (alternatives.length === 1) return firstMatchesSql(selection, slice)
  const fronts = alternatives.map(filter => sql`(${firstMatchesSql({ ...selection, filter }, slice)})`)
  // An offer that matches several alternatives has the same position in each.
  return sql`SELECT DISTINCT * FROM (${join(fronts, ' UNION ALL ')}) fronts`
}

/** Counts the matches, but not beyond `limits.count` + 1. */
export function countStatement(selection: TimedSelection): Prisma.Sql {
  const most = selection.limits.count + 1
  const alternatives = isPinned(selection) ? [selection.filter] : alternativesOf(selection.filter)
  const matches = alternatives.map(
    filter => sql`SELECT o.id ${fromNarrowedSql({ ...selection, filter })} LIMIT ${most}`,
  )
  const [first, ...others] = matches
  if (first && others.length === 0) return sql`SELECT count(*)::int AS count FROM (${first}) counted`
  const names = matches.map((_, index) => `alternative_${index}`)
  const tables = matches.map((one, index) => sql`${raw(names[index] as string)} AS MATERIALIZED (${one})`)
  // One that has enough alone is counted without the others. Otherwise an offer may match several of them.
  const enough = names.map(name => sql`WHEN (SELECT count(*) FROM ${raw(name)}) = ${most} THEN ${most}`)
  const all = raw(names.map(name => `SELECT id FROM ${name}`).join(' UNION '))
  return sql`WITH ${join(tables)} SELECT CASE ${join(enough, ' ')} ELSE
    (SELECT count(*)::int FROM (SELECT FROM (${all}) matches LIMIT ${most}) counted) END AS count`
}

/** All offers that match, as o, from the machines that the filter leaves or from all. */
function fromNarrowedSql(selection: TimedSelection): Prisma.Sql {
  return !isPinned(selection) && narrowsToMachines(selection)
    ? fromMachinesSql(selection, sql`(${machinesSql(selection, { keys: [] })})`)
    : fromMatchesSql(selection, [])
}

/** All offers that match, as k, g and o; and m, if the fields need it. */
export function fromMatchesSql(selection: TimedSelection, fields: readonly OfferField[]): Prisma.Sql {
  if (isPinned(selection)) return fromAllMatchesSql(selection)
  return sql`FROM ${indexRangesSql(selection)}
    JOIN offers o ON o.withdrawn_at IS NULL AND o.rentable = r.rentable AND o.verified = v.verified
      AND o.gpu_model_id = k.gpu_model_id AND o.num_gpus = k.num_gpus ${machineJoinSql(selection, fields)}
    WHERE ${andSql([...kindConditionsSql(selection), ...offerConditionsSql(selection)])}`
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
