import { describe, expect, it } from 'vitest'
import type { CreditStatus } from '../../../src/domain/billing/balance.ts'
import {
  type AccountFacts,
  decideNotices,
  midnightBefore,
  nextBillingAction,
  nextDueAt,
} from '../../../src/domain/billing/due.ts'

const hour = 3_600_000
const at = new Date('2026-11-21T12:00:00.000Z')
const later = (hours: number) => new Date(at.getTime() + hours * hour)
const rules = { debtGraceMs: 48 * hour }

const noTargets: AccountFacts['debtTargets'] = { hasInstances: false, hasVolumes: false }
const rich: CreditStatus = { creditNanos: 5n, costPerHourNanos: 0n, endsAt: null, hasEnded: false }
const endsIn = (hours: number): CreditStatus => ({ ...rich, costPerHourNanos: 1n, endsAt: later(hours) })
const indebted: CreditStatus = { creditNanos: -5n, costPerHourNanos: 1n, endsAt: later(-1), hasEnded: true }

const facts = (some: Partial<AccountFacts> = {}): AccountFacts => ({
  // With this id, the account's daily charge is due exactly at midnight.
  accountId: 600_000,
  at,
  creditStatus: rich,
  ...{ creditEndedAt: null, lowCreditHours: null, debtSince: null, debtWarnedAt: null },
  ...{ hasInstancesToStop: false, hasEnds: false, chargedUntil: null, debtTargets: noTargets },
  ...some,
})
const decide = (some: Partial<AccountFacts>) => decideNotices(facts(some), rules)
const kinds = (some: Partial<AccountFacts>) => decide(some).notices.map(({ kind }) => kind)

describe('the next action for an account', () => {
  it('is none when nothing costs anything', () => {
    expect(nextBillingAction(facts(), rules)).toBeNull()
    expect(nextDueAt(facts(), rules)).toBeNull()
  })

  it('stops instances before it charges or destroys anything', () => {
    const most = {
      creditStatus: indebted,
      hasInstancesToStop: true,
      hasEnds: true,
      debtTargets: { ...noTargets, hasInstances: true },
    }
    expect(nextBillingAction(facts(most), rules)).toBe('stop')
    expect(nextDueAt(facts(most), rules)).toEqual(at)
  })

  it('charges the previous day after midnight', () => {
    const midnight = new Date('2026-11-21T00:00:00.000Z')
    expect(midnightBefore(at)).toEqual(midnight)
    expect(midnightBefore(midnight)).toEqual(midnight)
    const before = new Date(midnight.getTime() - 1)
    expect(midnightBefore(before)).toEqual(later(-36))
    expect(nextBillingAction(facts({ chargedUntil: before }), rules)).toBe('charge')
    expect(nextBillingAction(facts({ chargedUntil: midnight }), rules)).toBeNull()
    expect(nextDueAt(facts({ chargedUntil: midnight }), rules)).toEqual(later(12))
    expect(nextDueAt(facts({ chargedUntil: at }), rules)).toEqual(later(12))
  })

  it('comes for each account at a different time within ten minutes after midnight', () => {
    const midnight = new Date('2026-11-21T00:00:00.000Z')
    const [first, last] = [midnight.getTime(), midnight.getTime() + 600_000 - 1]
    const dueAts = Array.from({ length: 100_000 }, (_, index) => {
      const evening = facts({ accountId: index + 1, at: later(-13), chargedUntil: later(-20) })
      return nextDueAt(evening, rules)?.getTime() as number
    })
    expect(dueAts.filter(dueAt => dueAt < first || dueAt > last)).toEqual([])
    expect(new Set(dueAts).size).toBe(dueAts.length)
    const perSecond = Map.groupBy(dueAts, dueAt => Math.floor((dueAt - first) / 1_000))
    expect(perSecond.size).toBe(600)
    for (const { length } of perSecond.values()) expect(length).toBeLessThan(200)
    // Accounts with successive ids are charged far apart.
    expect(Math.abs((dueAts[1] as number) - (dueAts[0] as number))).toBeGreaterThan(60_000)
  })

  it('charges the previous day at the offset of the account, and not earlier', () => {
    const dueAt = new Date('2026-11-21T00:06:10.823Z')
    const evening = { accountId: 1, chargedUntil: later(-20) }
    const before = facts({ ...evening, at: new Date(dueAt.getTime() - 1) })
    expect(nextBillingAction(before, rules)).toBeNull()
    expect(nextDueAt(before, rules)).toEqual(dueAt)
    expect(nextBillingAction(facts({ ...evening, at: dueAt }), rules)).toBe('charge')
    const tomorrow = new Date('2026-11-22T00:06:10.823Z')
    expect(nextDueAt(facts({ ...evening, chargedUntil: midnightBefore(dueAt) }), rules)).toEqual(tomorrow)
  })

  it('comes no later than the next check of its limits', () => {
    expect(nextDueAt(facts(), rules, later(3))).toEqual(later(3))
    expect(nextDueAt(facts({ creditStatus: endsIn(26) }), rules, later(3))).toEqual(later(2))
  })
})

describe('the end of credit', () => {
  it('makes the account due at each warning and at the end itself', () => {
    expect(nextDueAt(facts({ creditStatus: endsIn(100) }), rules)).toEqual(later(76))
    expect(nextDueAt(facts({ creditStatus: endsIn(24), lowCreditHours: 24 }), rules)).toEqual(later(23))
    expect(nextDueAt(facts({ creditStatus: endsIn(1), lowCreditHours: 1 }), rules)).toEqual(later(1))
  })

  it('is announced 24 hours ahead, 1 hour ahead, and when it comes', () => {
    expect(kinds({ creditStatus: endsIn(24.001) })).toEqual([])
    expect(kinds({ creditStatus: endsIn(24) })).toEqual(['ACCOUNT_LOW_CREDIT'])
    expect(kinds({ creditStatus: endsIn(2), lowCreditHours: 24 })).toEqual([])
    expect(decide({ creditStatus: endsIn(1), lowCreditHours: 24 })).toMatchObject({
      notes: { lowCreditHours: 1 },
      notices: [{ kind: 'ACCOUNT_LOW_CREDIT', endsAt: later(1) }],
    })
    const over = { ...indebted, costPerHourNanos: 0n, creditNanos: 0n }
    expect(decide({ creditStatus: over, lowCreditHours: 1 })).toMatchObject({
      notes: { lowCreditHours: 0 },
      notices: [{ kind: 'ACCOUNT_CREDIT_ENDED', endedAt: later(-1) }],
    })
    expect(kinds({ creditStatus: over, lowCreditHours: 0 })).toEqual([])
  })

  it('is announced once when the gateway is late', () => {
    expect(decide({ creditStatus: endsIn(0.5) })).toMatchObject({ notes: { lowCreditHours: 1 }, notices: [{}] })
  })

  it('is announced again only after credit was added', () => {
    expect(decide({ creditStatus: endsIn(5), lowCreditHours: 1 })).toMatchObject({
      notes: { lowCreditHours: 24 },
      notices: [],
    })
    expect(decide({ creditStatus: endsIn(25), lowCreditHours: 24 })).toMatchObject({
      notes: { lowCreditHours: null },
      notices: [],
    })
    // A remainder that was too small for GPUs pays for disks.
    expect(decide({ creditStatus: endsIn(0.01), lowCreditHours: 0 })).toMatchObject({
      notes: { lowCreditHours: 0 },
      notices: [],
    })
  })

  it('is announced once the instances have stopped, with the instant when credit ended', () => {
    const ended = { creditEndedAt: later(-2), creditStatus: endsIn(0.001), lowCreditHours: 1 }
    expect(decide({ ...ended, hasInstancesToStop: true })).toEqual({
      notes: { creditEndedAt: later(-2), lowCreditHours: 1, debtSince: null, debtWarnedAt: null },
      notices: [],
    })
    expect(decide(ended)).toMatchObject({
      notes: { creditEndedAt: null, lowCreditHours: 0 },
      notices: [{ kind: 'ACCOUNT_CREDIT_ENDED', endedAt: later(-2) }],
    })
    expect(decide({ ...ended, creditStatus: endsIn(100) })).toMatchObject({
      notes: { creditEndedAt: null, lowCreditHours: null },
    })
  })
})

describe('debt', () => {
  const debtTargets = { ...noTargets, hasInstances: true }
  const inDebt = (some: Partial<AccountFacts> = {}) =>
    facts({ creditStatus: indebted, debtTargets, lowCreditHours: 0, debtSince: later(-1), ...some })

  it('begins when credit ends while something still costs, or when credit is below zero', () => {
    expect(decide({ creditStatus: indebted, debtTargets }).notes.debtSince).toEqual(later(-1))
    expect(decide({ creditStatus: { ...indebted, creditNanos: 0n } }).notes.debtSince).toEqual(later(-1))
    expect(decide({ creditStatus: { ...indebted, costPerHourNanos: 0n } }).notes.debtSince).toEqual(later(-1))
    expect(decide({ creditStatus: { ...indebted, costPerHourNanos: 0n, creditNanos: 0n } }).notes.debtSince).toBeNull()
  })

  it('is announced a day before it destroys anything', () => {
    expect(nextDueAt(inDebt(), rules)).toEqual(later(23))
    expect(kinds(inDebt({ debtSince: later(-24) }))).toEqual(['ACCOUNT_DEBT'])
    expect(kinds(inDebt({ debtSince: later(-23.999) }))).toEqual([])
    expect(kinds(inDebt({ debtSince: later(-24), debtTargets: noTargets }))).toEqual([])
    const late = decide(inDebt({ debtSince: later(-100) }))
    expect(late.notices).toEqual([{ kind: 'ACCOUNT_DEBT', since: later(-100), destroysAt: later(24) }])
    const warned = inDebt({ debtSince: later(-24), debtWarnedAt: at })
    expect(kinds(warned)).toEqual([])
    expect(nextDueAt(warned, rules)).toEqual(later(24))
  })

  it('is announced at once when the grace period is shorter than a day', () => {
    const short = { debtGraceMs: 2 * hour }
    const { notices } = decideNotices(facts({ creditStatus: indebted, debtTargets, lowCreditHours: 0 }), short)
    expect(notices).toEqual([{ kind: 'ACCOUNT_DEBT', since: later(-1), destroysAt: later(2) }])
  })

  it('destroys instances, then volumes', () => {
    const late = { debtSince: later(-48), debtWarnedAt: later(-24) }
    const all = { hasInstances: true, hasVolumes: true }
    expect(nextBillingAction(inDebt({ ...late, debtTargets: all }), rules)).toBe('destroyInstances')
    expect(nextBillingAction(inDebt({ ...late, debtTargets: { ...all, hasInstances: false } }), rules)).toBe(
      'deleteVolumes',
    )
    expect(nextBillingAction(inDebt({ ...late, debtSince: later(-47.999), debtTargets: all }), rules)).toBeNull()
    expect(nextDueAt(inDebt({ ...late, debtTargets: noTargets }), rules)).toBeNull()
  })

  it('ends when there is credit again', () => {
    const { notes } = decide(inDebt({ creditStatus: rich, debtWarnedAt: at }))
    expect(notes).toMatchObject({ debtSince: null, debtWarnedAt: null })
  })
})
