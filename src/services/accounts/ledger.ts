// The ledger of an account, for operators.

import { Prisma } from '../../database/generated/client.ts'
import type { DataDeps } from '../deps.ts'

const { sql } = Prisma

type LedgerLine = {
  id: number
  kind: string
  amountNanos: bigint
  balanceAfterNanos: bigint
  instanceId: number | null
  volumeId: number | null
  periodStart: Date | null
  periodEnd: Date | null
  /** Rate per hour during the period. */
  rateNanos: bigint | null
  /** Remainder of the previous charge, in 1/3,600,000 of a nano-dollar. */
  carried: number | null
  reason: string | null
  idempotencyKey: string | null
  postedAt: Date
}

export function accountLedgerOperations({ database }: DataDeps) {
  return {
    /** Up to `limit` entries after the entry with the id `after`, in posting order. */
    async ledgerPage(accountId: number, after: number, limit: number): Promise<LedgerLine[]> {
      const rows = await database.rows(sql`
        SELECT l.id, l.kind, l.amount_nanos, l.balance_after_nanos, m.instance_id, m.volume_id, l.period_start, l.period_end,
          l.rate_nanos, l.carried, l.note, l.idempotency_key, l.posted_at
        FROM ledger_entries l LEFT JOIN meters m ON m.id = l.meter_id
        WHERE l.account_id = ${accountId} AND l.id > ${after} ORDER BY l.id LIMIT ${limit}`)
      return rows.map(row => {
        const [id, kind, amountNanos, balanceAfterNanos, instance, volume, periodStart, periodEnd, rateNanos, ...rest] =
          row
        const [instanceId, volumeId] = [instance, volume].map(value => (value === null ? null : Number(value)))
        const [carried, reason, idempotencyKey, postedAt] = rest
        const about = { id: Number(id), kind, amountNanos, balanceAfterNanos, instanceId, volumeId }
        return { ...about, periodStart, periodEnd, rateNanos, carried, reason, idempotencyKey, postedAt } as LedgerLine
      })
    },
  }
}
