import { invalidInput } from '../errors.ts'
import { invalidCursor, parseCursor, printCursor } from '../pages.ts'

const ledgerKinds = ['gpu', 'disk', 'top_up', 'refund', 'adjustment'] as const
export type LedgerKind = (typeof ledgerKinds)[number]

/** A line of an account's ledger. An entry without a meter, such as a top-up, has no period, rate or resource. */
export type LedgerEntry = {
  id: bigint
  kind: LedgerKind
  /** Negative for a charge. */
  amountNanos: bigint
  balanceAfterNanos: bigint
  periodStart: Date | null
  periodEnd: Date | null
  /** Per hour. */
  rateNanos: bigint | null
  /** Parts of a nano-dollar that the previous charge left over; 3,600,000 parts make one nano-dollar. */
  carried: number | null
  reason: string | null
  postedAt: Date
  instanceId: bigint | null
  volumeId: bigint | null
  /** The key that rented the instance or created the volume. */
  apiKeyId: number | null
}

export type LedgerFilter = {
  kinds?: readonly LedgerKind[] | undefined
  instanceIds?: readonly bigint[] | undefined
  /** Posted at this instant or later. */
  from?: Date | undefined
  /** Posted before this instant. */
  to?: Date | undefined
}

export const maxInstancesPerLedger = 100

export function checkLedgerFilter({ instanceIds = [], from, to }: LedgerFilter): void {
  const issues = []
  if (instanceIds.length > maxInstancesPerLedger) {
    const message = `takes at most ${maxInstancesPerLedger} ids, not ${instanceIds.length}.`
    issues.push({ path: 'filter.instanceIds', message })
  }
  if (from && to && from >= to) issues.push({ path: 'filter.to', message: 'must be later than "from".' })
  if (issues.length > 0) throw invalidInput(issues)
}

/** The ledger lists the newest entry first. Ids increase in the order of posting. */
const cursorScope = 'ledger by id desc'

export function printLedgerCursor(id: bigint): string {
  return printCursor(cursorScope, [String(id)])
}

export function parseLedgerCursor(cursor: string): bigint {
  const [id, ...rest] = parseCursor(cursor, cursorScope)
  if (typeof id === 'string' && /^\d{1,18}$/.test(id) && rest.length === 0) return BigInt(id)
  throw invalidCursor()
}
