import { invalidInput } from '../errors.ts'
import { apiKeyActor, type EventActor, operatorActor, systemActor } from '../events/actor.ts'
import { type InstantFilter, instantFilterIssues } from '../instants.ts'
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
  /** The charged or refunded period, without its end. */
  periodStart: Date | null
  periodEnd: Date | null
  /** Per hour. */
  rateNanos: bigint | null
  /** Parts of a nano-dollar that the previous charge left over; 3,600,000 parts make one nano-dollar. */
  carried: number | null
  /** The operator's words on the entry. */
  note: string | null
  postedAt: Date
  meter: (ChargedItem & ChargedKey) | null
}

type ChargedItem = { instanceId: bigint | null; volumeId: bigint | null }
/** The key that rented the instance or created the volume. */
type ChargedKey = { apiKeyId: number | null }

export type LedgerFilter = {
  kinds?: readonly LedgerKind[] | undefined
  subjects?: readonly LedgerSubject[] | undefined
  postedAt?: InstantFilter | undefined
}

/** What an entry is for: an instance, a volume, or the account itself, as with a top-up. */
export type LedgerSubject = { type: 'Instance' | 'Volume' | 'Account'; id: bigint }

/** The subject of an entry of this account. */
export function ledgerSubjectOf({ meter }: { meter: ChargedItem | null }, accountId: number): LedgerSubject {
  const { instanceId = null, volumeId = null } = meter ?? {}
  if (instanceId !== null) return { type: 'Instance', id: instanceId }
  if (volumeId !== null) return { type: 'Volume', id: volumeId }
  return { type: 'Account', id: BigInt(accountId) }
}

/**
 * Who caused an entry. A charge or a refund counts for the key that rented the instance or created the volume, whoever
 * started it later. Only the operator adds or corrects credit.
 */
export function ledgerActorOf({ kind, meter }: { kind: LedgerKind; meter: ChargedKey | null }): EventActor {
  if (kind === 'top_up' || kind === 'adjustment') return operatorActor
  const apiKeyId = meter?.apiKeyId ?? null
  return apiKeyId === null ? systemActor : apiKeyActor({ apiKeyId })
}

export const maxLedgerSubjects = 100

export function checkLedgerFilter({ subjects = [], postedAt = {} }: LedgerFilter): void {
  const issues = instantFilterIssues(postedAt, 'filter.postedAt')
  if (subjects.length > maxLedgerSubjects) {
    const message = `takes at most ${maxLedgerSubjects} ids, not ${subjects.length}.`
    issues.unshift({ path: 'filter.subjectIds', message })
  }
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
