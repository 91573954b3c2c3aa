// What is to be done for an account's money by itself, and when that is known before.

import type { CreditStatus } from './balance.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** In the first minutes of a day what the one before cost is charged, each account at an instant of its own. */
const chargeSpreadMs = 600_000
/** So far from one id to the next: it has no divisor with the spread in common, so each instant is used before any twice. */
const accountStrideMs = 370_823
/** So long before is warned that something is destroyed, if the grace is as long. */
const debtWarningLeadMs = dayMs
/** Nobody tells when a container is gone that keeps a volume. */
const heldVolumeRetryMs = 60_000
/** So many hours ahead is told that credit ends; 0 is when it has. */
const lowCreditWarningHours = [24, 1] as const

export type AccountFacts = {
  accountId: number
  /** The account's time. */
  at: Date
  creditStatus: CreditStatus
  /** When its credit ended, until that is told. */
  creditEndedAt: Date | null
  /** So many hours ahead of the end of its credit that was told last: null when there was enough again since. */
  lowCreditHours: number | null
  debtSince: Date | null
  debtWarnedAt: Date | null
  /** Whether something is to run that must be stopped, since its credit has ended or a limit was reached. */
  hasInstancesToStop: boolean
  /** Whether something ended that is not charged. */
  hasEnds: boolean
  /** Up to when is charged what was charged longest ago of what costs something; null where nothing does. */
  chargedUntil: Date | null
  /** What its debt would destroy: instances first, then volumes, of which some are held by a container yet. */
  debtTargets: { hasInstances: boolean; hasVolumes: boolean; hasHeldVolumes: boolean }
}

/** For how long an account may have less than nothing. */
export type DebtRules = { debtGraceMs: number }

/** What must be done first; the rest is found by looking again. */
export type DueAction = 'stop' | 'charge' | 'destroyInstances' | 'deleteVolumes'

export function nextAction(facts: AccountFacts, rules: DebtRules): DueAction | null {
  const { at, hasInstancesToStop, hasEnds, debtTargets } = facts
  if (hasInstancesToStop) return 'stop'
  const chargesAt = nextDailyCharge(facts)
  if (hasEnds || (chargesAt !== null && chargesAt <= at)) return 'charge'
  const destroysAt = debtDestructionAt(facts, rules)
  if (destroysAt === null || destroysAt > at) return null
  if (debtTargets.hasInstances) return 'destroyInstances'
  return debtTargets.hasVolumes ? 'deleteVolumes' : null
}

/** What is charged every day, is so up to here. */
export function midnightBefore(at: Date): Date {
  return new Date(Math.floor(at.getTime() / dayMs) * dayMs)
}

/** When the day before is charged next, up to its midnight; all accounts at once would keep what is urgent waiting. */
function nextDailyCharge({ accountId, chargedUntil }: AccountFacts): Date | null {
  if (chargedUntil === null) return null
  return addMs(midnightBefore(chargedUntil), dayMs + ((accountId * accountStrideMs) % chargeSpreadMs))
}

/** What is written down of an account, so that it is told once. */
export type NoticeState = Pick<AccountFacts, 'creditEndedAt' | 'lowCreditHours' | 'debtSince' | 'debtWarnedAt'>

export type Notice =
  | { type: 'ACCOUNT_LOW_CREDIT'; endsAt: Date }
  | { type: 'ACCOUNT_CREDIT_ENDED'; endedAt: Date }
  | { type: 'ACCOUNT_DEBT'; since: Date; destroysAt: Date }

/** What is to be told of an account now, and what is written down of it then. */
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
  lowCreditHours: told,
}: AccountFacts) {
  const { endsAt, hasEnded } = creditStatus
  // While something is still to be stopped for it nothing is told: that is done next.
  if (hasInstancesToStop) return withCreditState(creditEndedAt, told)
  const left = hasEnded ? 0 : reachedWarningHours(at, endsAt)
  // What GPUs could not be paid with pays disks for a moment: that is no other end.
  const hours = left === 1 && (told === 0 || creditEndedAt !== null) ? 0 : left
  if (creditEndedAt !== null)
    return withCreditState(null, hours, { type: 'ACCOUNT_CREDIT_ENDED', endedAt: creditEndedAt })
  if (hours === null || endsAt === null || (told !== null && told <= hours)) return withCreditState(null, hours)
  if (hours === 0) return withCreditState(null, 0, { type: 'ACCOUNT_CREDIT_ENDED', endedAt: endsAt })
  return withCreditState(null, hours, { type: 'ACCOUNT_LOW_CREDIT', endsAt })
}

function withCreditState(creditEndedAt: Date | null, lowCreditHours: number | null, ...notices: Notice[]) {
  return { notes: { creditEndedAt, lowCreditHours }, notices }
}

/** The nearest instant of which is told that has come. */
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
  const notice: Notice = { type: 'ACCOUNT_DEBT', since, destroysAt: debtDestructionAt(warned, rules) ?? at }
  return { notes: { debtSince: since, debtWarnedAt: at }, notices: [notice] }
}

/** When is warned of what its debt will destroy; null where that was done, or nothing is left. */
function debtWarningAt(
  { debtSince, debtWarnedAt, debtTargets }: AccountFacts,
  { debtGraceMs }: DebtRules,
): Date | null {
  if (debtSince === null || debtWarnedAt !== null || !hasDebtTargets(debtTargets)) return null
  return addMs(debtSince, Math.max(0, debtGraceMs - debtWarningLeadMs))
}

/** When its debt destroys what costs something. Who was warned late has as much time from then on. */
function debtDestructionAt(
  { debtSince, debtWarnedAt, debtTargets }: AccountFacts,
  { debtGraceMs }: DebtRules,
): Date | null {
  if (debtSince === null || debtWarnedAt === null || !hasDebtTargets(debtTargets)) return null
  return latest(addMs(debtSince, debtGraceMs), addMs(debtWarnedAt, Math.min(debtGraceMs, debtWarningLeadMs)))
}

const hasDebtTargets = ({ hasInstances, hasVolumes, hasHeldVolumes }: AccountFacts['debtTargets']) =>
  hasInstances || hasVolumes || hasHeldVolumes

/**
 * When the account must be looked at again, if nothing changes: null for never. `limitsAt` is when its limits on spending
 * must be.
 */
export function nextDueAt(facts: AccountFacts, rules: DebtRules, limitsAt: Date | null = null): Date | null {
  const { at, creditStatus, debtTargets, lowCreditHours: told } = facts
  if (nextAction(facts, rules)) return at
  const instants: (Date | null)[] = [limitsAt, debtWarningAt(facts, rules), nextDailyCharge(facts)]
  const destroysAt = debtDestructionAt(facts, rules)
  // What is due by now, and is not a deed, is held.
  if (destroysAt !== null)
    instants.push(destroysAt > at || !debtTargets.hasHeldVolumes ? destroysAt : addMs(at, heldVolumeRetryMs))
  if (!creditStatus.hasEnded && creditStatus.endsAt) {
    const { endsAt } = creditStatus
    instants.push(
      endsAt,
      ...lowCreditWarningHours
        .filter(hours => told === null || hours < told)
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
