import { describe, expect, it } from 'vitest'
import { nextPolicy, noArrangement, type PolicyFacts } from '../../src/domain/instances-policy.ts'

const hour = 3_600_000
const rented = new Date('2026-11-21T12:00:00.000Z')
const later = (hours: number) => new Date(rented.getTime() + hours * hour)
const ofHours = (hours: number, facts: Partial<PolicyFacts> = {}): PolicyFacts => ({
  createdAt: rented,
  endsAt: later(hours),
  announcedAt: null,
  destroyedAt: null,
  ...noArrangement,
  targetState: 'running',
  status: 'running',
  statusChangedAt: rented,
  claimedAt: rented,
  computeNanos: 0n,
  meters: [],
  ...facts,
})

describe('what happens to an instance by itself', () => {
  it('is that its end is announced 24 hours before', () => {
    expect(nextPolicy(ofHours(100), rented)).toEqual({ at: later(76), deed: 'announce' })
  })

  it('is that its end is announced at once when that is nearer', () => {
    expect(nextPolicy(ofHours(3), rented)).toEqual({ at: rented, deed: 'announce' })
  })

  it('is, once that is done, that its rental ends', () => {
    const facts = ofHours(100, { announcedAt: later(76) })
    expect(nextPolicy(facts, later(80))).toMatchObject({
      at: later(100),
      deed: 'destroy',
      reason: { code: 'RENTAL_ENDED' },
    })
  })

  it('is no announcement of what is past', () => {
    expect(nextPolicy(ofHours(100), later(100))).toMatchObject({ at: later(100), deed: 'destroy' })
  })

  it('is nothing once it is destroyed', () => {
    expect(nextPolicy(ofHours(100, { destroyedAt: later(1) }), later(200))).toBeNull()
  })
})
