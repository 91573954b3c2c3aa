// Decides which billing actions and notices are due for an account, and when the next ones are.

import type { CreditStatus } from './balance.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** The previous day is charged in the first minutes of a day, each account at its own offset. */
const chargeSpreadMs = 600_000
/** Step between accounts. It is coprime to `chargeSpreadMs`, so every offset is used once before any repeats. */
const accountStrideMs = 370_823
/** Warn this long before a debt destroys anything, if the grace period is at least as long. */
const debtWarningLeadMs = dayMs
/** Warn this many hours before credit runs out. 0 means it has run out. */
const lowCreditWarningHours = [24, 1] as const

export type AccountFacts = {
  accountId: number
  /** The current time of the account: see `Balance.at`. */
  at: Date
  creditStatus: CreditStatus
  /** When the credit ended; null after the account was notified. */
  creditEndedAt: Date | null
  /** How many hours ahead the last credit warning was; null once there is enough credit again. */
  lowCreditHours: number | null
  debtSince: Date | null
  debtWarnedAt: Date | null
  /** Whether any instance that should run must be stopped, because credit ended or a limit was reached. */
  hasInstancesToStop: boolean
  /** Whether a meter ended and is not charged up to its end yet. */
  hasEnds: boolean
  /** The oldest `since` among running meters; null when no meter runs. */
  chargedUntil: Date | null
  /** Resources that a debt destroys: instances first, then volumes. */
  debtTargets: { hasInstances: boolean; hasVolumes: boolean }
}

/** `debtGraceMs`: how long an account may be in debt. */
export type DebtRules = { debtGraceMs: number }

/** The first action that is due. The next pass finds the rest. */
export type BillingAction = 'stop' | 'charge' | 'destroyInstances' | 'deleteVolumes'

export function nextBillingAction(facts: AccountFacts, rules: DebtRules): BillingAction | null {
  const { at, hasInstancesToStop, hasEnds, debtTargets } = facts
  if (hasInstancesToStop) return 'stop'
  const chargesAt = nextDailyCharge(facts)
  if (hasEnds || (chargesAt !== null && chargesAt <= at)) return 'charge'
  const destroysAt = debtDestructionAt(facts, rules)
  if (destroysAt === null || destroysAt > at) return null
  if (debtTargets.hasInstances) return 'destroyInstances'
  return debtTargets.hasVolumes ? 'deleteVolumes' : null
}

/** Daily charges end at this instant. */
export function midnightBefore(at: Date): Date {
  return new Date(Math.floor(at.getTime() / dayMs) * dayMs)
}

/**
 * When the next daily charge is due: shortly after the midnight that follows `chargedUntil`. Accounts are spread out so
 * that urgent work is not delayed.
 */
function nextDailyCharge({ accountId, chargedUntil }: AccountFacts): Date | null {
  if (chargedUntil === null) return null
  return addMs(midnightBefore(chargedUntil), dayMs + ((accountId * accountStrideMs) % chargeSpreadMs))
}

/** The state that is stored so that the account gets each notice once. */
export type NoticeState = Pick<AccountFacts, 'creditEndedAt' | 'lowCreditHours' | 'debtSince' | 'debtWarnedAt'>

export type Notice =
  | { kind: 'ACCOUNT_LOW_CREDIT'; endsAt: Date }
  | { kind: 'ACCOUNT_CREDIT_ENDED'; endedAt: Date }
  | { kind: 'ACCOUNT_DEBT'; since: Date; destroysAt: Date }

/** Whether the state differs from the stored one. */
export function changesNotes(stored: NoticeState, notes: NoticeState): boolean {
  return Object.entries(notes).some(
    ([name, value]) => stored[name as keyof NoticeState]?.valueOf() !== value?.valueOf(),
  )
}

/** Whether an account has credit, and there is nothing to do or to tell: only its next pass must be scheduled. */
export function isQuiet(facts: AccountFacts, rules: DebtRules): boolean {
  if (facts.creditStatus.hasEnded || nextBillingAction(facts, rules) !== null) return false
  const { notes, notices } = decideNotices(facts, rules)
  return notices.length === 0 && !changesNotes(facts, notes)
}

/** Decides which notices an account gets now, and the state to store with them. */
export function decideNotices(facts: AccountFacts, rules: DebtRules): { notes: NoticeState; notices: Notice[] } {
  const credit = decideCreditNotices(facts)
  const debt = decideDebtNotices(facts, rules)
  return { notes: { ...credit.notes, ...debt.notes }, notices: [...credit.notices, ...debt.notices] }
}

function decideCreditNotices({
  at,
  creditStatus,
  creditEndedAt,
  hasInstancesToStop,
  lowCreditHours: warnedHours,
}: AccountFacts) {
  const { endsAt, hasEnded } = creditStatus
  // Notices wait until the instances are stopped, which is the next action.
  if (hasInstancesToStop) return withCreditState(creditEndedAt, warnedHours)
  const reached = hasEnded ? 0 : reachedWarningHours(at, endsAt)
  // The remainder that was too small for GPUs pays for disks a moment longer. That is not a second end of credit.
  const hours = reached === 1 && (warnedHours === 0 || creditEndedAt !== null) ? 0 : reached
  if (creditEndedAt !== null)
    return withCreditState(null, hours, { kind: 'ACCOUNT_CREDIT_ENDED', endedAt: creditEndedAt })
  if (hours === null || endsAt === null || (warnedHours !== null && warnedHours <= hours))
    return withCreditState(null, hours)
  if (hours === 0) return withCreditState(null, 0, { kind: 'ACCOUNT_CREDIT_ENDED', endedAt: endsAt })
  return withCreditState(null, hours, { kind: 'ACCOUNT_LOW_CREDIT', endsAt })
}

function withCreditState(creditEndedAt: Date | null, lowCreditHours: number | null, ...notices: Notice[]) {
  return { notes: { creditEndedAt, lowCreditHours }, notices }
}

/** The smallest warning step, in hours, that the end of credit has reached; null if it has reached none. */
function reachedWarningHours(at: Date, endsAt: Date | null): number | null {
  return (
    lowCreditWarningHours.findLast(hours => endsAt !== null && endsAt.getTime() - at.getTime() <= hours * hourMs) ??
    null
  )
}

function decideDebtNotices(facts: AccountFacts, rules: DebtRules) {
  const { at, creditStatus, debtSince, debtWarnedAt } = facts
  const { hasEnded, endsAt, costPerHourNanos, creditNanos } = creditStatus
  if (!hasEnded || (costPerHourNanos === 0n && creditNanos >= 0n))
    return { notes: { debtSince: null, debtWarnedAt: null }, notices: [] }
  const since = debtSince ?? endsAt ?? at
  const warnsAt = debtWarningAt({ ...facts, debtSince: since }, rules)
  if (warnsAt === null || warnsAt > at) return { notes: { debtSince: since, debtWarnedAt }, notices: [] }
  const warned = { ...facts, debtSince: since, debtWarnedAt: at }
  const notice: Notice = { kind: 'ACCOUNT_DEBT', since, destroysAt: debtDestructionAt(warned, rules) ?? at }
  return { notes: { debtSince: since, debtWarnedAt: at }, notices: [notice] }
}

/** When to warn about the destruction; null if the warning was sent or nothing would be destroyed. */
function debtWarningAt(
  { debtSince, debtWarnedAt, debtTargets }: AccountFacts,
  { debtGraceMs }: DebtRules,
): Date | null {
  if (debtSince === null || debtWarnedAt !== null || !hasDebtTargets(debtTargets)) return null
  return addMs(debtSince, Math.max(0, debtGraceMs - debtWarningLeadMs))
}

/** When the debt destroys resources. After a late warning, the account still gets the full warning time. */
function debtDestructionAt(
  { debtSince, debtWarnedAt, debtTargets }: AccountFacts,
  { debtGraceMs }: DebtRules,
): Date | null {
  if (debtSince === null || debtWarnedAt === null || !hasDebtTargets(debtTargets)) return null
  return latest(addMs(debtSince, debtGraceMs), addMs(debtWarnedAt, Math.min(debtGraceMs, debtWarningLeadMs)))
}

const hasDebtTargets = ({ hasInstances, hasVolumes }: AccountFacts['debtTargets']) => hasInstances || hasVolumes

/**
 * When the account must be checked next if nothing changes; null for never. `limitsAt` is the next check of its spend
 * limits.
 */
export function nextDueAt(facts: AccountFacts, rules: DebtRules, limitsAt: Date | null = null): Date | null {
  const { at, creditStatus, lowCreditHours: warnedHours } = facts
  if (nextBillingAction(facts, rules)) return at
  const instants: (Date | null)[] = [
    ...[limitsAt, nextDailyCharge(facts)],
    ...[debtWarningAt(facts, rules), debtDestructionAt(facts, rules)],
  ]
  if (!creditStatus.hasEnded && creditStatus.endsAt) {
    const { endsAt } = creditStatus
    instants.push(
      endsAt,
      ...lowCreditWarningHours
        .filter(hours => warnedHours === null || hours < warnedHours)
        .map(hours => addMs(endsAt, -hours * hourMs)),
    )
  }
  return instants.reduce<Date | null>(
    (first, next) => (first === null || (next !== null && next < first) ? next : first),
    null,
  )
}

const addMs = (instant: Date, ms: number) => new Date(instant.getTime() + ms)
const latest = (one: Date, other: Date) => (one > other ? one : other)
