// Where a page of events begins, and in which order the statement reads them, of events `e` and the row `k` of `keptRangeSql`.

import { Prisma } from '../../database/generated/client.ts'
import type { Position } from '../../domain/events/events.ts'
import { positionSql } from './sql.ts'

const { sql, raw } = Prisma

/** The conditions and the order of a page. */
type RangeSql = { range: Prisma.Sql[]; order: Prisma.Sql }

export function rangeSql(backward: boolean, place: Position | undefined): RangeSql {
  const [direction, comparison] = backward ? [raw('DESC'), raw('<')] : [raw('ASC'), raw('>')]
  const kept = sql`e.xid < k.horizon AND (e.xid, e.id) > (k.purged_xid::xid8, k.purged_id)`
  const rest = place ? [sql`(e.xid, e.id) ${comparison} ${positionSql(place)}`] : []
  return { range: [kept, ...rest], order: sql`e.xid ${direction}, e.id ${direction}` }
}

/**
 * The same among the events of an account. A range of accounts instead of `=`, because the planner then reads the index of
 * the account and not that of all events. The planner does not know the bounds, so it expects many rows and sorts none.
 */
export function rangeOfAccountSql(backward: boolean, place: Position | undefined, accountId: number): RangeSql {
  const account = sql`(SELECT ${accountId}::int)`
  const direction = backward ? raw('DESC') : raw('ASC')
  const from = sql`${account}, k.purged_xid::xid8, k.purged_id`
  const at = place ? sql`${account}, ${String(place.xid)}::xid8, ${String(place.id)}::bigint` : undefined
  return {
    range: [
      // A position that was purged is refused, so none before a purged one is read.
      sql`(e.account_id, e.xid, e.id) > (${backward ? from : (at ?? from)})`,
      sql`(e.account_id, e.xid) < (${account}, k.horizon)`,
      ...(backward && at ? [sql`(e.account_id, e.xid, e.id) < (${at})`] : []),
    ],
    order: sql`e.account_id ${direction}, e.xid ${direction}, e.id ${direction}`,
  }
}
