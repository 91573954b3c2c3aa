// What things cost when: what is charged, less what was given back, and what runs now.

import { Prisma } from '../../database/generated/client.ts'
import type { Period } from '../../domain/billing/charges.ts'
import { meterEndSql } from './sql.ts'

const { sql } = Prisma

/** An account, how far it is charged, and when its GPUs end costing something if everything goes on. */
type ChargedAccount = { accountId: number; at: Date; endsAt: Date | null }

/**
 * What is charged, and what runs now up to where it would be charged: as far as it is in the period, but not cut at its
 * ends. Of one that was given back whole the end is before the beginning. Of meters `m` for which the condition holds.
 */
export function chargedPeriodsSql(
  { accountId, at, endsAt }: ChargedAccount,
  { from, to }: Period,
  which: Prisma.Sql = sql`true`,
): Prisma.Sql {
  // Up to `since` a meter is charged: most that ended long ago have nothing in the period, and their charges are not read.
  return sql`
      SELECT m.kind, m.instance_id, m.volume_id, m.api_key_id, e.rate_nanos, e.carried, e.period_start,
        least(e.period_end, r.period_start) AS period_end
      FROM meters m JOIN ledger_entries e ON e.meter_id = m.id AND e.kind IN ('compute', 'disk')
      LEFT JOIN ledger_entries r ON r.meter_id = m.id AND r.kind = 'refund'
        AND e.period_end > r.period_start AND e.period_end <= r.period_end
      WHERE m.account_id = ${accountId} AND ${which} AND m.since > ${from}::timestamptz
        AND e.period_end > ${from}::timestamptz AND e.period_start < ${to}::timestamptz
      UNION ALL
      SELECT m.kind, m.instance_id, m.volume_id, m.api_key_id, m.rate_nanos, m.carried, m.since,
        least(${at}::timestamptz, ${meterEndSql},
          CASE WHEN m.kind = 'compute' THEN ${endsAt}::timestamptz END)
      FROM meters m WHERE m.account_id = ${accountId} AND ${which} AND m.rate_nanos > 0`
}

/**
 * Up to an instant a charge comes to its rate times the time until then, with what was carried, in whole nano-dollars: so
 * the parts of one always come to all of it, at whatever instants it is cut.
 */
export function costUntilSql(instant: Prisma.Sql): Prisma.Sql {
  return sql`div(rate_nanos * extract(epoch FROM ${instant} - period_start) * 1000 + carried, 3600000)`
}
