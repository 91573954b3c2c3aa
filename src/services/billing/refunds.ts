import { Prisma } from '../../database/generated/client.ts'
import { int4, int8, timestamptz } from '../../database/row-types.ts'
import { insertSql, modelColumnsOf } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import { calculateChargedAfter } from '../../domain/billing/balance.ts'
import type { AccountBalance } from './balance.ts'

const { sql } = Prisma
const entryColumns = modelColumnsOf(Prisma.LedgerEntryScalarFieldEnum)

/** Refunds what meters were charged for the time after `instant`, unless a charge was refunded before. */
export async function refundAfter(
  tx: Transaction,
  { accountId, at: postedAt }: AccountBalance,
  which: Prisma.Sql,
  instant: Date,
  note: string,
): Promise<void> {
  const statement = sql`
    SELECT e.meter_id, e.period_start, e.period_end, e.rate_nanos, e.carried, -e.amount_nanos AS amount_nanos
    FROM ledger_entries e JOIN meters m ON m.id = e.meter_id
    WHERE ${which} AND e.period_end > ${instant} AND e.kind IN ('gpu', 'disk')
    AND coalesce(e.period_end > (
      SELECT max(r.period_end) FROM ledger_entries r WHERE r.meter_id = e.meter_id AND r.kind = 'refund'
    ), true) ORDER BY e.id`
  const charges = await tx.query(statement, {
    ...{ meterId: int8, periodStart: timestamptz, periodEnd: timestamptz, rateNanos: int8, carried: int4 },
    amountNanos: int8,
  })
  const refunds = new Map<bigint, { amountNanos: bigint; periodStart: Date; periodEnd: Date }>()
  for (const { meterId, periodEnd, ...charge } of charges) {
    const beyond = calculateChargedAfter(charge, instant)
    const { periodStart } = charge
    const before = refunds.get(meterId) ?? {
      amountNanos: 0n,
      periodStart: instant > periodStart ? instant : periodStart,
    }
    refunds.set(meterId, { ...before, amountNanos: before.amountNanos + beyond, periodEnd })
  }
  const entries = [...refunds]
    .filter(([, { amountNanos }]) => amountNanos > 0n)
    .map(([meterId, refund]) => {
      return { accountId, meterId, kind: 'refund', postedAt, note, ...refund }
    })
  if (entries.length > 0) await tx.execute(insertSql('ledger_entries', entryColumns, entries))
}
