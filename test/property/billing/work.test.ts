import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AccountFacts, dueDeed, nextLook, notesOf } from '../../../src/domain/billing/work.ts'

const hour = 3_600_000
const at = new Date('2026-11-21T12:00:00.000Z')
const rules = { debtGraceMs: 48 * hour }

const past = fc.integer({ min: -200 * hour, max: 0 }).map(ms => new Date(at.getTime() + ms))
const future = fc.integer({ min: 1, max: 200 * hour }).map(ms => new Date(at.getTime() + ms))
const standing: fc.Arbitrary<AccountFacts['standing']> = fc.oneof(
  fc.record({
    creditNanos: fc.bigInt(0n, 9n),
    burnNanos: fc.bigInt(0n, 2n),
    endsAt: fc.option(future),
    isOver: fc.constant(false),
  }),
  fc.record({ creditNanos: fc.bigInt(-9n, 0n), burnNanos: fc.bigInt(0n, 2n), endsAt: past, isOver: fc.constant(true) }),
)
const anyFacts: fc.Arbitrary<AccountFacts> = fc.record({
  accountId: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  at: fc.constantFrom(at, new Date('2026-11-21T00:05:00.000Z')),
  standing,
  creditEndedAt: fc.option(past),
  lowCreditHours: fc.constantFrom(null, 24, 1, 0),
  debtSince: fc.option(past),
  debtWarnedAt: fc.option(past),
  runs: fc.boolean(),
  hasEnds: fc.boolean(),
  chargedUntil: fc.option(past),
  disks: fc.record({ instances: fc.boolean(), volumes: fc.boolean(), held: fc.boolean() }),
})

describe('a look at an account', () => {
  it('is followed by another at once only when something is to be done', () => {
    fc.assert(
      fc.property(anyFacts, fc.option(future), (facts, limitsAt) => {
        const after = { ...facts, ...notesOf(facts, rules).notes }
        const next = nextLook(after, rules, limitsAt)
        if (dueDeed(after, rules) === null) expect(next === null || next > facts.at).toBe(true)
        else expect(next).toEqual(facts.at)
      }),
      { numRuns: 20_000 },
    )
  })

  it('tells nothing twice', () => {
    fc.assert(
      fc.property(anyFacts, facts => {
        const { notes } = notesOf(facts, rules)
        expect(notesOf({ ...facts, ...notes }, rules)).toEqual({ notes, notices: [] })
      }),
      { numRuns: 20_000 },
    )
  })
})
