import { describe, expect, it } from 'vitest'
import type { Standing } from '../../../src/domain/billing/billing.ts'
import { type AccountFacts, dueDeed, midnightBefore, nextLook, notesOf } from '../../../src/domain/billing/work.ts'

const hour = 3_600_000
const at = new Date('2026-11-21T12:00:00.000Z')
const later = (hours: number) => new Date(at.getTime() + hours * hour)
const rules = { debtGraceMs: 48 * hour }

const nothing: AccountFacts['disks'] = { instances: false, volumes: false, held: false }
const isRich: Standing = { creditNanos: 5n, burnNanos: 0n, endsAt: null, isOver: false }
const endsIn = (hours: number): Standing => ({ ...isRich, burnNanos: 1n, endsAt: later(hours) })
const owes: Standing = { creditNanos: -5n, burnNanos: 1n, endsAt: later(-1), isOver: true }

const facts = (some: Partial<AccountFacts> = {}): AccountFacts => ({
  // Of which the day is charged at midnight.
  accountId: 600_000,
  at,
  standing: isRich,
  ...{ creditEndedAt: null, lowCreditHours: null, debtSince: null, debtWarnedAt: null },
  ...{ runs: false, hasEnds: false, chargedUntil: null, disks: nothing },
  ...some,
})
const told = (some: Partial<AccountFacts>) => notesOf(facts(some), rules)
const types = (some: Partial<AccountFacts>) => told(some).notices.map(({ type }) => type)

describe('what is due for an account', () => {
  it('is nothing where nothing costs anything', () => {
    expect(dueDeed(facts(), rules)).toBeNull()
    expect(nextLook(facts(), rules)).toBeNull()
  })

  it('is that what runs is stopped, before anything is charged or destroyed', () => {
    const most = { standing: owes, runs: true, hasEnds: true, disks: { ...nothing, instances: true } }
    expect(dueDeed(facts(most), rules)).toBe('stop')
    expect(nextLook(facts(most), rules)).toEqual(at)
  })

  it('is that the day before is charged, once it is over', () => {
    const midnight = new Date('2026-11-21T00:00:00.000Z')
    expect(midnightBefore(at)).toEqual(midnight)
    expect(midnightBefore(midnight)).toEqual(midnight)
    const before = new Date(midnight.getTime() - 1)
    expect(midnightBefore(before)).toEqual(later(-36))
    expect(dueDeed(facts({ chargedUntil: before }), rules)).toBe('charge')
    expect(dueDeed(facts({ chargedUntil: midnight }), rules)).toBeNull()
    expect(nextLook(facts({ chargedUntil: midnight }), rules)).toEqual(later(12))
    expect(nextLook(facts({ chargedUntil: at }), rules)).toEqual(later(12))
  })

  it('is charged of the day before within ten minutes of midnight, each account at an instant of its own', () => {
    const midnight = new Date('2026-11-21T00:00:00.000Z')
    const [first, last] = [midnight.getTime(), midnight.getTime() + 600_000 - 1]
    const looks = Array.from({ length: 100_000 }, (_, index) => {
      const evening = facts({ accountId: index + 1, at: later(-13), chargedUntil: later(-20) })
      return nextLook(evening, rules)?.getTime() as number
    })
    expect(looks.filter(look => look < first || look > last)).toEqual([])
    expect(new Set(looks).size).toBe(looks.length)
    const perSecond = Map.groupBy(looks, look => Math.floor((look - first) / 1_000))
    expect(perSecond.size).toBe(600)
    for (const { length } of perSecond.values()) expect(length).toBeLessThan(200)
    // No account waits behind others that came about as it did.
    expect(Math.abs((looks[1] as number) - (looks[0] as number))).toBeGreaterThan(60_000)
  })

  it('is charged of the day before at its instant, and not before', () => {
    const look = new Date('2026-11-21T00:06:10.823Z')
    const evening = { accountId: 1, chargedUntil: later(-20) }
    const before = facts({ ...evening, at: new Date(look.getTime() - 1) })
    expect(dueDeed(before, rules)).toBeNull()
    expect(nextLook(before, rules)).toEqual(look)
    expect(dueDeed(facts({ ...evening, at: look }), rules)).toBe('charge')
    const tomorrow = new Date('2026-11-22T00:06:10.823Z')
    expect(nextLook(facts({ ...evening, chargedUntil: midnightBefore(look) }), rules)).toEqual(tomorrow)
  })

  it('is what its limits ask for', () => {
    expect(nextLook(facts(), rules, later(3))).toEqual(later(3))
    expect(nextLook(facts({ standing: endsIn(26) }), rules, later(3))).toEqual(later(2))
  })
})

describe('the end of credit', () => {
  it('is looked at when it is told, and when it comes', () => {
    expect(nextLook(facts({ standing: endsIn(100) }), rules)).toEqual(later(76))
    expect(nextLook(facts({ standing: endsIn(24), lowCreditHours: 24 }), rules)).toEqual(later(23))
    expect(nextLook(facts({ standing: endsIn(1), lowCreditHours: 1 }), rules)).toEqual(later(1))
  })

  it('is told 24 hours ahead, then 1, and when it has come', () => {
    expect(types({ standing: endsIn(24.001) })).toEqual([])
    expect(types({ standing: endsIn(24) })).toEqual(['ACCOUNT_LOW_CREDIT'])
    expect(types({ standing: endsIn(2), lowCreditHours: 24 })).toEqual([])
    expect(told({ standing: endsIn(1), lowCreditHours: 24 })).toMatchObject({
      notes: { lowCreditHours: 1 },
      notices: [{ type: 'ACCOUNT_LOW_CREDIT', endsAt: later(1) }],
    })
    const over = { ...owes, burnNanos: 0n, creditNanos: 0n }
    expect(told({ standing: over, lowCreditHours: 1 })).toMatchObject({
      notes: { lowCreditHours: 0 },
      notices: [{ type: 'ACCOUNT_CREDIT_ENDED', endedAt: later(-1) }],
    })
    expect(types({ standing: over, lowCreditHours: 0 })).toEqual([])
  })

  it('is told once where that is late', () => {
    expect(told({ standing: endsIn(0.5) })).toMatchObject({ notes: { lowCreditHours: 1 }, notices: [{}] })
  })

  it('is told again only after there was more', () => {
    expect(told({ standing: endsIn(5), lowCreditHours: 1 })).toMatchObject({
      notes: { lowCreditHours: 24 },
      notices: [],
    })
    expect(told({ standing: endsIn(25), lowCreditHours: 24 })).toMatchObject({
      notes: { lowCreditHours: null },
      notices: [],
    })
    // What was left over for disks when GPUs could not be paid any more.
    expect(told({ standing: endsIn(0.01), lowCreditHours: 0 })).toMatchObject({
      notes: { lowCreditHours: 0 },
      notices: [],
    })
  })

  it('is not told before everything was stopped for it, and then as of when it was', () => {
    const ended = { creditEndedAt: later(-2), standing: endsIn(0.001), lowCreditHours: 1 }
    expect(told({ ...ended, runs: true })).toEqual({
      notes: { creditEndedAt: later(-2), lowCreditHours: 1, debtSince: null, debtWarnedAt: null },
      notices: [],
    })
    expect(told(ended)).toMatchObject({
      notes: { creditEndedAt: null, lowCreditHours: 0 },
      notices: [{ type: 'ACCOUNT_CREDIT_ENDED', endedAt: later(-2) }],
    })
    expect(told({ ...ended, standing: endsIn(100) })).toMatchObject({
      notes: { creditEndedAt: null, lowCreditHours: null },
    })
  })
})

describe('debt', () => {
  const disks = { ...nothing, instances: true }
  const inDebt = (some: Partial<AccountFacts> = {}) =>
    facts({ standing: owes, disks, lowCreditHours: 0, debtSince: later(-1), ...some })

  it('begins when credit has ended and something costs on, or when it is below zero', () => {
    expect(told({ standing: owes, disks }).notes.debtSince).toEqual(later(-1))
    expect(told({ standing: { ...owes, creditNanos: 0n } }).notes.debtSince).toEqual(later(-1))
    expect(told({ standing: { ...owes, burnNanos: 0n } }).notes.debtSince).toEqual(later(-1))
    expect(told({ standing: { ...owes, burnNanos: 0n, creditNanos: 0n } }).notes.debtSince).toBeNull()
  })

  it('is warned of a day before anything is destroyed', () => {
    expect(nextLook(inDebt(), rules)).toEqual(later(23))
    expect(types(inDebt({ debtSince: later(-24) }))).toEqual(['ACCOUNT_DEBT'])
    expect(types(inDebt({ debtSince: later(-23.999) }))).toEqual([])
    expect(types(inDebt({ debtSince: later(-24), disks: nothing }))).toEqual([])
    const late = told(inDebt({ debtSince: later(-100) }))
    expect(late.notices).toEqual([{ type: 'ACCOUNT_DEBT', since: later(-100), destroysAt: later(24) }])
    const warned = inDebt({ debtSince: later(-24), debtWarnedAt: at })
    expect(types(warned)).toEqual([])
    expect(nextLook(warned, rules)).toEqual(later(24))
  })

  it('is warned of at once where its grace is shorter', () => {
    const short = { debtGraceMs: 2 * hour }
    const { notices } = notesOf(facts({ standing: owes, disks, lowCreditHours: 0 }), short)
    expect(notices).toEqual([{ type: 'ACCOUNT_DEBT', since: later(-1), destroysAt: later(2) }])
  })

  it('destroys instances, then volumes, and waits for those that a container keeps', () => {
    const late = { debtSince: later(-48), debtWarnedAt: later(-24) }
    const all = { instances: true, volumes: true, held: true }
    expect(dueDeed(inDebt({ ...late, disks: all }), rules)).toBe('destroyInstances')
    expect(dueDeed(inDebt({ ...late, disks: { ...all, instances: false } }), rules)).toBe('deleteVolumes')
    const held = inDebt({ ...late, disks: { ...nothing, held: true } })
    expect(dueDeed(held, rules)).toBeNull()
    expect(nextLook(held, rules)).toEqual(later(1 / 60))
    expect(dueDeed(inDebt({ ...late, debtSince: later(-47.999), disks: all }), rules)).toBeNull()
    expect(nextLook(inDebt({ ...late, disks: nothing }), rules)).toBeNull()
  })

  it('is over when there is credit', () => {
    const { notes } = told(inDebt({ standing: isRich, debtWarnedAt: at }))
    expect(notes).toMatchObject({ debtSince: null, debtWarnedAt: null })
  })
})
