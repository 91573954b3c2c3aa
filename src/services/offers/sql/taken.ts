// Blocks of GPUs that are rented whole. Their offers are off the market, so no search finds them.

import { Prisma } from '../../../database/generated/client.ts'
import type { Reading } from '../../../database/selection/reading.ts'
import { storedPriceSql } from './columns.ts'
import { fromFilteredMachinesSql, fromMachinesSql } from './machines-first.ts'
import type { TimedSelection } from './selection.ts'

const { sql, raw } = Prisma

/** The cheapest rented block that matches, among those of the first machines on the market that match. */
export function takenStatement(
  selection: TimedSelection,
  { columns, joins }: Pick<Reading<unknown>, 'columns' | 'joins'>,
): Prisma.Sql {
  const { nowSql, limits, pricing } = selection
  const machines = sql`(SELECT m.* ${fromFilteredMachinesSql(selection)}
    AND m.unlisted_at IS NULL AND m.listed_until > ${nowSql} LIMIT ${raw(String(limits.machines))})`
  const rented = sql`SELECT held.* FROM instances i JOIN offers held ON held.id = i.offer_id
    WHERE i.machine_id = m.id AND i.destroyed_at IS NULL`
  return sql`
    WITH cheapest AS (
      SELECT o.id AS offer_id ${fromMachinesSql(selection, machines, rented)} ORDER BY ${storedPriceSql(pricing)} LIMIT 1
    )
    SELECT ${columns} FROM cheapest JOIN offers o ON o.id = offer_id ${joins}`
}
