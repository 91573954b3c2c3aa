// What is to be done for an account's money by itself, and when that is known before.

import type { Standing } from './billing.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** In the first minutes of a day what the one before cost is charged, each account at an instant of its own. */
const spreadMs = 600_000
/** So far from one id to the next: it has no divisor with the spread in common, so each instant is used before any twice. */
const strideMs = 370_823
/** So long before is warned that something is destroyed, if the grace is as long. */
const warnedMs = dayMs
/** Nobody tells when a container is gone that keeps a volume. */
const heldMs = 60_000
/** So many hours ahead is told that credit ends; 0 is when it has. */
const toldHours = [24, 1] as const

export type AccountFacts = {
  accountId: number
  /** The account's time. */
  at: Date
  standing: Standing
  /** When its credit ended, until that is told. */
  creditEndedAt: Date | null
  /** So many hours ahead of the end of its credit that was told last: null when there was enough again since. */
  lowCreditHours: number | null
  debtSince: Date | null
  debtWarnedAt: Date | null
  /** Whether something is to run that must be stopped, since its credit has ended or a limit was reached. */
  runs: boolean
  /** Whether something ended that is not charged. */
  hasEnds: boolean
  /** Up to when is charged what was charged longest ago of what costs something; null where nothing does. */
  chargedUntil: Date | null
  /** What its debt would destroy: instances first, then volumes, of which some are held by a container yet. */
  disks: { instances: boolean; volumes: boolean; held: boolean }
}

/** For how long an account may have less than nothing. */
export type Rules = { debtGraceMs: number }

/** What must be done first; the rest is found by looking again. */
export type Deed = 'stop' | 'charge' | 'destroyInstances' | 'deleteVolumes'

export function dueDeed(facts: AccountFacts, rules: Rules): Deed | null {
  const { at, runs, hasEnds, disks } = facts
  if (runs) return 'stop'
  const chargesAt = dailyChargeOf(facts)
  if (hasEnds || (chargesAt !== null && chargesAt <= at)) return 'charge'
  const destroysAt = destructionOf(facts, rules)
  if (destroysAt === null || destroysAt > at) return null
  if (disks.instances) return 'destroyInstances'
  return disks.volumes ? 'deleteVolumes' : null
}

/** What is charged every day, is so up to here. */
export function midnightBefore(at: Date): Date {
  return new Date(Math.floor(at.getTime() / dayMs) * dayMs)
}

/** When the day before is charged next, up to its midnight; all accounts at once would keep what is urgent waiting. */
function dailyChargeOf({ accountId, chargedUntil }: AccountFacts): Date | null {
  if (chargedUntil === null) return null
  return after(midnightBefore(chargedUntil), dayMs + ((accountId * strideMs) % spreadMs))
}

/** What is written down of an account, so that it is told once. */
export type Notes = Pick<AccountFacts, 'creditEndedAt' | 'lowCreditHours' | 'debtSince' | 'debtWarnedAt'>

export type Notice =
  | { type: 'ACCOUNT_LOW_CREDIT'; endsAt: Date }
  | { type: 'ACCOUNT_CREDIT_ENDED'; endedAt: Date }
  | { type: 'ACCOUNT_DEBT'; since: Date; destroysAt: Date }

/** What is to be told of an account now, and what is written down of it then. */
export function notesOf(facts: AccountFacts, rules: Rules): { notes: Notes; notices: Notice[] } {
  const credit = creditNotes(facts)
  const debt = debtNotes(facts, rules)
  return { notes: { ...credit.notes, ...debt.notes }, notices: [...credit.notices, ...debt.notices] }
}

function creditNotes({ at, standing, creditEndedAt, runs, lowCreditHours: told }: AccountFacts) {
  const { endsAt, isOver } = standing
  // While something is still to be stopped for it nothing is told: that is done next.
  if (runs) return noted(creditEndedAt, told)
  const left = isOver ? 0 : hoursLeft(at, endsAt)
  // What GPUs could not be paid with pays disks for a moment: that is no other end.
  const hours = left === 1 && (told === 0 || creditEndedAt !== null) ? 0 : left
  if (creditEndedAt !== null) return noted(null, hours, { type: 'ACCOUNT_CREDIT_ENDED', endedAt: creditEndedAt })
  if (hours === null || endsAt === null || (told !== null && told <= hours)) return noted(null, hours)
  if (hours === 0) return noted(null, 0, { type: 'ACCOUNT_CREDIT_ENDED', endedAt: endsAt })
  return noted(null, hours, { type: 'ACCOUNT_LOW_CREDIT', endsAt })
}

function noted(creditEndedAt: Date | null, lowCreditHours: number | null, ...notices: Notice[]) {
  return { notes: { creditEndedAt, lowCreditHours }, notices }
}

/** The nearest instant of which is told that has come. */
function hoursLeft(at: Date, endsAt: Date | null): number | null {
  return toldHours.findLast(hours => endsAt !== null && endsAt.getTime() - at.getTime() <= hours * hourMs) ?? null
}

function debtNotes(facts: AccountFacts, rules: Rules) {
  const { at, standing, debtSince, debtWarnedAt } = facts
  const { isOver, endsAt, burnNanos, creditNanos } = standing
  if (!isOver || (burnNanos === 0n && creditNanos >= 0n))
    return { notes: { debtSince: null, debtWarnedAt: null }, notices: [] }
  const since = debtSince ?? endsAt ?? at
  const warnsAt = warningOf({ ...facts, debtSince: since }, rules)
  if (warnsAt === null || warnsAt > at) return { notes: { debtSince: since, debtWarnedAt }, notices: [] }
  const warned = { ...facts, debtSince: since, debtWarnedAt: at }
  const notice: Notice = { type: 'ACCOUNT_DEBT', since, destroysAt: destructionOf(warned, rules) ?? at }
  return { notes: { debtSince: since, debtWarnedAt: at }, notices: [notice] }
}

/** When is warned of what its debt will destroy; null where that was done, or nothing is left. */
function warningOf({ debtSince, debtWarnedAt, disks }: AccountFacts, { debtGraceMs }: Rules): Date | null {
  if (debtSince === null || debtWarnedAt !== null || !costs(disks)) return null
  return after(debtSince, Math.max(0, debtGraceMs - warnedMs))
}

/** When its debt destroys what costs something. Who was warned late has as much time from then on. */
function destructionOf({ debtSince, debtWarnedAt, disks }: AccountFacts, { debtGraceMs }: Rules): Date | null {
  if (debtSince === null || debtWarnedAt === null || !costs(disks)) return null
  return latest(after(debtSince, debtGraceMs), after(debtWarnedAt, Math.min(debtGraceMs, warnedMs)))
}

const costs = ({ instances, volumes, held }: AccountFacts['disks']) => instances || volumes || held

/**
 * When the account must be looked at again, if nothing changes: null for never. `limitsAt` is when its limits on spending
 * must be.
 */
export function nextLook(facts: AccountFacts, rules: Rules, limitsAt: Date | null = null): Date | null {
  const { at, standing, disks, lowCreditHours: told } = facts
  if (dueDeed(facts, rules)) return at
  const instants: (Date | null)[] = [limitsAt, warningOf(facts, rules), dailyChargeOf(facts)]
  const destroysAt = destructionOf(facts, rules)
  // What is due by now, and is not a deed, is held.
  if (destroysAt !== null) instants.push(destroysAt > at || !disks.held ? destroysAt : after(at, heldMs))
  if (!standing.isOver && standing.endsAt) {
    const { endsAt } = standing
    instants.push(
      endsAt,
      ...toldHours.filter(hours => told === null || hours < told).map(hours => after(endsAt, -hours * hourMs)),
    )
  }
  return instants.reduce<Date | null>(
    (first, next) => (first === null || (next !== null && next < first) ? next : first),
    null,
  )
}

const after = (instant: Date, ms: number) => new Date(instant.getTime() + ms)
const latest = (one: Date, other: Date) => (one > other ? one : other)
