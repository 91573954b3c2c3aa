// The ledger of an account, for operators.

import type { DataDeps } from '../deps.ts'

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
      const entries = await database.prisma.ledgerEntry.findMany({
        where: { accountId, id: { gt: after } },
        orderBy: { id: 'asc' },
        take: limit,
        select: {
          ...{ id: true, kind: true, amountNanos: true, balanceAfterNanos: true, periodStart: true, periodEnd: true },
          ...{ rateNanos: true, carried: true, note: true, idempotencyKey: true, postedAt: true },
          meter: { select: { instanceId: true, volumeId: true } },
        },
      })
      return entries.map(({ id, meter, note: reason, kind, amountNanos, balanceAfterNanos, ...rest }) => {
        const [instanceId, volumeId] = [numberOrNull(meter?.instanceId), numberOrNull(meter?.volumeId)]
        const { periodStart, periodEnd, rateNanos, carried, idempotencyKey, postedAt } = rest
        const about = { id: Number(id), kind, amountNanos, balanceAfterNanos, instanceId, volumeId }
        return { ...about, periodStart, periodEnd, rateNanos, carried, reason, idempotencyKey, postedAt }
      })
    },
  }
}

function numberOrNull(id: bigint | null | undefined): number | null {
  return id == null ? null : Number(id)
}
