import { Prisma } from '../database/generated/client.ts'
import { columnsOf, insertAll } from '../database/rows.ts'
import type { Transaction } from '../database/transaction.ts'
import { chargedBeyond } from '../domain/billing.ts'
import type { AccountBalance } from './billing-balance.ts'

const { sql } = Prisma
const entryColumns = columnsOf(Prisma.LedgerEntryScalarFieldEnum)

/** Gives back what was charged beyond an instant for the meters of an instance, which ended then. */
export async function refundBeyond(
  tx: Transaction,
  { accountId, at: postedAt }: AccountBalance,
  instanceId: bigint,
  instant: Date,
): Promise<void> {
  const rows = await tx.rows(sql`
    SELECT e.meter_id, e.period_start, e.period_end, e.rate_nanos, e.carried, -e.amount_nanos
    FROM ledger_entries e JOIN meters m ON m.id = e.meter_id
    WHERE m.instance_id = ${instanceId} AND e.period_end > ${instant} AND e.kind IN ('compute', 'disk') ORDER BY e.id`)
  const refunds = new Map<bigint, { amountNanos: bigint; periodEnd: Date }>()
  for (const [meterId, periodStart, periodEnd, rateNanos, carried, amountNanos] of rows as [
    ...[bigint, Date, Date, bigint, number, bigint],
  ][]) {
    const beyond = chargedBeyond({ periodStart, rateNanos, carried, amountNanos }, instant)
    refunds.set(meterId, { amountNanos: (refunds.get(meterId)?.amountNanos ?? 0n) + beyond, periodEnd })
  }
  const entries = [...refunds]
    .filter(([, { amountNanos }]) => amountNanos > 0n)
    .map(([meterId, refund]) => {
      const about = { accountId, meterId, kind: 'refund', periodStart: instant, postedAt }
      return { ...about, ...refund, reason: 'Its machine was not seen any more.' }
    })
  if (entries.length > 0) await tx.rows(insertAll('ledger_entries', entryColumns, entries))
}
