import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AccountFacts, decideNotices, nextBillingAction, nextDueAt } from '../../../src/domain/billing/due.ts'

const hour = 3_600_000
const at = new Date('2026-11-21T12:00:00.000Z')
const rules = { debtGraceMs: 48 * hour }

const past = fc.integer({ min: -200 * hour, max: 0 }).map(ms => new Date(at.getTime() + ms))
const future = fc.integer({ min: 1, max: 200 * hour }).map(ms => new Date(at.getTime() + ms))
const creditStatus: fc.Arbitrary<AccountFacts['creditStatus']> = fc.oneof(
  fc.record({
    creditNanos: fc.bigInt(0n, 9n),
    costPerHourNanos: fc.bigInt(0n, 2n),
    endsAt: fc.option(future),
    hasEnded: fc.constant(false),
  }),
  fc.record({
    creditNanos: fc.bigInt(-9n, 0n),
    costPerHourNanos: fc.bigInt(0n, 2n),
    endsAt: past,
    hasEnded: fc.constant(true),
  }),
)
const anyFacts: fc.Arbitrary<AccountFacts> = fc.record({
  accountId: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  at: fc.constantFrom(at, new Date('2026-11-21T00:05:00.000Z')),
  creditStatus,
  creditEndedAt: fc.option(past),
  lowCreditHours: fc.constantFrom(null, 24, 1, 0),
  debtSince: fc.option(past),
  debtWarnedAt: fc.option(past),
  hasInstancesToStop: fc.boolean(),
  hasEnds: fc.boolean(),
  chargedUntil: fc.option(past),
  debtTargets: fc.record({ hasInstances: fc.boolean(), hasVolumes: fc.boolean() }),
})

describe('a billing pass over an account', () => {
  it('is followed by another pass at once only when an action is due', () => {
    fc.assert(
      fc.property(anyFacts, fc.option(future), (facts, limitsAt) => {
        const after = { ...facts, ...decideNotices(facts, rules).notes }
        const next = nextDueAt(after, rules, limitsAt)
        if (nextBillingAction(after, rules) === null) expect(next === null || next > facts.at).toBe(true)
        else expect(next).toEqual(facts.at)
      }),
      { numRuns: 20_000 },
    )
  })

  it('sends no notice twice', () => {
    fc.assert(
      fc.property(anyFacts, facts => {
        const { notes } = decideNotices(facts, rules)
        expect(decideNotices({ ...facts, ...notes }, rules)).toEqual({ notes, notices: [] })
      }),
      { numRuns: 20_000 },
    )
  })
})
