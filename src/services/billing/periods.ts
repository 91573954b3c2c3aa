// Periods of cost: posted charges, less refunds, and running time that is not charged yet.

import { Prisma } from '../../database/generated/client.ts'
import type { Period } from '../../domain/billing/charges.ts'
import { meterEndOfAccountSql } from './sql.ts'

const { sql } = Prisma

/**
 * `at`: the instant up to which running meters count. `endsAt`: when the account's GPU charges end if nothing changes.
 */
export type ChargedAccount = { accountId: number; at: Date; endsAt: Date | null }

/**
 * Selects the posted charges and the uncharged running time that overlap the period, not cut at its ends. A charge
 * that was refunded completely ends at its own start or earlier. `which` is a condition on meters `m`.
 */
export function chargedPeriodsSql(
  { accountId, at, endsAt }: ChargedAccount,
  { startsAt, endsAt: until }: Period,
  which: Prisma.Sql = sql`true`,
): Prisma.Sql {
  // A meter is charged from `began_at` up to `since`. Meters whose charges all precede or follow the period are skipped
  // without reading those charges. As a plain join, all charges of all accounts may be read.
  return sql`
      SELECT m.kind, m.instance_id, m.volume_id, m.api_key_id, e.rate_nanos, e.carried, e.period_start,
        least(e.period_end, r.period_start) AS period_end
      FROM meters m CROSS JOIN LATERAL (
        SELECT * FROM ledger_entries e WHERE e.meter_id = m.id AND e.kind IN ('gpu', 'disk')
        AND e.period_end > ${startsAt}::timestamptz AND e.period_start < ${until}::timestamptz OFFSET 0
      ) e LEFT JOIN LATERAL (
        SELECT period_start FROM ledger_entries r WHERE r.meter_id = m.id AND r.kind = 'refund'
        AND e.period_end > r.period_start AND e.period_end <= r.period_end LIMIT 1
      ) r ON true
      WHERE m.account_id = ${accountId} AND ${which} AND m.since > ${startsAt}::timestamptz
        AND m.began_at < ${until}::timestamptz
      UNION ALL
      SELECT m.kind, m.instance_id, m.volume_id, m.api_key_id, m.rate_nanos, m.carried, m.since,
        least(${at}::timestamptz, ${meterEndOfAccountSql(accountId)},
          CASE WHEN m.kind = 'gpu' THEN ${endsAt}::timestamptz END)
      FROM meters m WHERE m.account_id = ${accountId} AND ${which} AND m.rate_nanos > 0`
}

/**
 * The cost of a charge from its beginning to an instant: rate times time plus the carried fraction, in whole
 * nano-dollars. Wherever a charge is cut, its parts add up to the whole charge.
 */
export function costUntilSql(instant: Prisma.Sql): Prisma.Sql {
  return sql`div(rate_nanos * extract(epoch FROM ${instant} - period_start) * 1000 + carried, 3600000)`
}
