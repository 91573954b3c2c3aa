import { DomainError } from '../errors.ts'
import type { LedgerKind } from './ledger.ts'

/** Kinds of entries that do not charge for usage. */
export const paymentKinds = ['top_up', 'refund', 'adjustment'] as const satisfies LedgerKind[]
export const usageKinds = ['gpu', 'disk'] as const satisfies LedgerKind[]

/** A part of the ledger in one piece, oldest entry first, and the credit at the instant of reading. */
export type Statement<Entry> = {
  entries: Entry[]
  creditNanos: bigint
  /** Spending that is not posted yet. The credit is the sum of the whole ledger less this amount. */
  accruedNanos: bigint
}

export const maxStatementEntries = 5_000

export function statementTooLong(): DomainError {
  const message = `The statement has more than ${maxStatementEntries} lines. Ask for a shorter period, or read the ledger in pages.`
  return new DomainError('INVALID_INPUT', message, { issues: [] })
}
