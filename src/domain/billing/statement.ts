import { DomainError } from '../errors.ts'
import type { LedgerEntry, LedgerKind } from './ledger.ts'

/** What is posted without anything having been used. */
export const paymentKinds = ['top_up', 'refund', 'adjustment'] as const satisfies LedgerKind[]
export const usageKinds = ['compute', 'disk'] as const satisfies LedgerKind[]

/** A part of the ledger in one piece, the oldest entry first, and how the account stands at the same instant. */
export type Statement = {
  entries: LedgerEntry[]
  creditNanos: bigint
  /** What was spent that is not posted yet: without it the sum of the whole ledger is the credit. */
  accruedNanos: bigint
}

export const maxStatementEntries = 5_000

export function statementTooLong(): DomainError {
  const message = `There are more than ${maxStatementEntries} lines. Ask for a shorter period, or read them in pages.`
  return new DomainError('INVALID_INPUT', message, { issues: [] })
}
