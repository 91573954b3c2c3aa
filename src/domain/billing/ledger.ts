import { DomainError, invalidInput } from '../errors.ts'
import { parseCursor, printCursor } from '../pages.ts'

export const ledgerKinds = ['compute', 'disk', 'top_up', 'refund', 'adjustment'] as const
export type LedgerKind = (typeof ledgerKinds)[number]

/** A line of an account's ledger. What is not about something that goes on costing has no meter, and nothing of one. */
export type LedgerEntry = {
  id: bigint
  kind: LedgerKind
  /** Below zero is what was charged. */
  amountNanos: bigint
  balanceAfterNanos: bigint
  periodStart: Date | null
  periodEnd: Date | null
  /** Per hour. */
  rateNanos: bigint | null
  /** Parts of a nano-dollar, of which there are 3,600,000, that the charge before left over. */
  carried: number | null
  reason: string | null
  postedAt: Date
  instanceId: bigint | null
  volumeId: bigint | null
  /** The key that rented or made it. */
  apiKeyId: number | null
}

export type LedgerFilter = {
  kinds?: readonly LedgerKind[] | undefined
  instanceIds?: readonly bigint[] | undefined
  /** Posted at this instant or later. */
  from?: Date | undefined
  /** Posted before this. */
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

/** The ledger is read from the newest entry on, and ids are given in its order. */
const cursorScope = 'ledger by id desc'

export function printLedgerCursor(id: bigint): string {
  return printCursor(cursorScope, [String(id)])
}

export function parseLedgerCursor(cursor: string): bigint {
  const [id, ...rest] = parseCursor(cursor, cursorScope)
  if (typeof id === 'string' && /^\d{1,18}$/.test(id) && rest.length === 0) return BigInt(id)
  throw new DomainError('INVALID_CURSOR', 'This is not a cursor of this list.')
}
