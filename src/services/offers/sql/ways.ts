// The ways of a search to its page, each of them bounded: the front of the whole market, the machines that the filter leaves,
// a longer front, and at last the front of each kind of offer.

import { Prisma } from '../../../database/generated/client.ts'
import { cappedFrontsSql, frontsSql, hasOrderedRanges } from './fronts.ts'
import { machineOrderSql, ordersByMachines } from './machine-order.ts'
import { firstOfMachinesSql, machinesSql, narrowsToMachines } from './machines-first.ts'
import { hasMarketFront, isShifted, marketFrontSql } from './market-front.ts'
import { kindConditionsSql, namesModels, positionNamesOf, type Slice, type TimedSelection } from './selection.ts'

const { sql, join, raw } = Prisma

/** A bounded way to the page: common table expressions, the rows of the page, and whether the way has all of them. */
type Way = { tables: Prisma.Sql; rows: Prisma.Sql; isWhole: Prisma.Sql }

/** The page from the first way that has it. PostgreSQL executes a way only when those before it do not have the page. */
export function firstMatchesSql(selection: TimedSelection, slice: Slice): Prisma.Sql {
  const ways = boundedWays(selection, slice)
  if (ways.length === 0) return frontsSql(selection, slice)
  const cases = ways.map(({ isWhole }, index) => sql`WHEN ${isWhole} THEN ${raw(String(index))}`)
  const isChosen = (index: number) => sql`(SELECT way FROM chosen) = ${raw(String(index))}`
  return sql`SELECT * FROM (WITH ${join(ways.map(({ tables }) => tables))},
    chosen AS MATERIALIZED (SELECT CASE ${join(cases, ' ')} ELSE ${raw(String(ways.length))} END AS way)
    ${join(
      [...ways.map(({ rows }) => rows), frontsSql(selection, slice)].map(
        (rows, index) => sql`SELECT * FROM (${rows} OFFSET 0) page WHERE ${isChosen(index)}`,
      ),
      ' UNION ALL ',
    )}) ways`
}

function boundedWays(selection: TimedSelection, slice: Slice): Way[] {
  const columns = raw(positionNamesOf(selection, slice).join(', '))
  const probed = (tables: Prisma.Sql, prefix = ''): Way => ({
    tables,
    rows: sql`SELECT ${columns} FROM ${raw(`${prefix}probe`)} WHERE offer_id IS NOT NULL`,
    isWhole: sql`(SELECT done FROM ${raw(`${prefix}probed`)})`,
  })
  if (ordersByMachines(selection, slice)) return [probed(machineOrderSql(selection, slice))]
  const narrows = narrowsToMachines(selection)
  const fewMachines = narrows ? [fewMachinesWay(selection, slice)] : []
  if (namesModels(selection)) {
    const isOrdered = narrows && hasOrderedRanges(selection, slice)
    return [...(isOrdered ? [probed(cappedFrontsSql(selection, slice))] : []), ...fewMachines]
  }
  // Kinds of offers that the filter leaves are better found by their own fronts, unless it also filters machines.
  if (!hasMarketFront(selection, slice) || (kindConditionsSql(selection).length > 0 && !narrows)) return fewMachines
  const { offers } = selection.limits
  // Numbers in the text are known to a plan that is made for any values.
  const front = (length: number, prefix?: string) =>
    probed(marketFrontSql(selection, slice, raw(String(length)), prefix), prefix)
  if (!narrows && !isShifted(selection, slice)) return [front(Math.min(offers, 10 * slice.limit))]
  return [front(offers), ...fewMachines, front(10 * offers, 'deep_')]
}

/** All offers of the machines that the filter leaves. */
function fewMachinesWay(selection: TimedSelection, slice: Slice): Way {
  const { machines } = selection.limits
  return {
    tables: sql`few AS MATERIALIZED (${machinesSql(selection, slice)} LIMIT ${machines + 1})`,
    rows: firstOfMachinesSql(selection, slice, raw('few')),
    isWhole: sql`(SELECT count(*) FROM few) <= ${machines}`,
  }
}
