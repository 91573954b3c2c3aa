import { describe, expect, it } from 'vitest'
import type { CostMeter } from '../../../src/domain/billing/costs.ts'
import {
  nextPolicyAction,
  noPolicy,
  type PolicyFacts,
  policyMeterEnds,
  startRefusal,
  stoppedSince,
} from '../../../src/domain/instances/policy/policy.ts'

const hour = 3_600_000
const rented = new Date('2026-11-21T12:00:00.000Z')
const later = (hours: number) => new Date(rented.getTime() + hours * hour)
const ofHours = (hours: number, facts: Partial<PolicyFacts> = {}): PolicyFacts => ({
  createdAt: rented,
  endsAt: later(hours),
  announcedAt: null,
  destroyedAt: null,
  ...noPolicy,
  targetState: 'running',
  status: 'running',
  statusChangedAt: rented,
  claimedAt: rented,
  gpuPriceNanos: 0n,
  idledSeconds: null,
  startedAt: null,
  replaceSeconds: null,
  startFailed: false,
  meters: [],
  ...facts,
})

describe('the next action of an instance', () => {
  it('warns 24 hours before the rental ends', () => {
    expect(nextPolicyAction(ofHours(100), rented)).toEqual({ at: later(76), kind: 'announce' })
  })

  it('warns at once when the rental ends within 24 hours', () => {
    expect(nextPolicyAction(ofHours(3), rented)).toEqual({ at: rented, kind: 'announce' })
  })

  it('ends the rental after the warning', () => {
    const facts = ofHours(100, { announcedAt: later(76) })
    expect(nextPolicyAction(facts, later(80))).toMatchObject({
      at: later(100),
      kind: 'destroy',
      reason: { code: 'RENTAL_ENDED' },
    })
  })

  it('skips the warning once the end is past', () => {
    expect(nextPolicyAction(ofHours(100), later(100))).toMatchObject({ at: later(100), kind: 'destroy' })
  })

  it('is null once the instance is destroyed', () => {
    expect(nextPolicyAction(ofHours(100, { destroyedAt: later(1) }), later(200))).toBeNull()
  })
})

const meters = (chargedNanos = 0n): CostMeter[] =>
  (['gpu', 'disk'] as const).map(kind => ({
    kind,
    rateNanos: kind === 'gpu' ? 400_000_000n : 100_000_000n,
    since: rented,
    carried: 0,
    chargedNanos,
    end: null,
  }))
const announced = { announcedAt: rented }

describe('the policy of an instance', () => {
  it('stops a running instance at stopAt', () => {
    const facts = ofHours(100, { ...announced, stopAt: later(5) })
    expect(nextPolicyAction(facts, rented)).toEqual({ at: later(5), kind: 'stop', code: 'SCHEDULE' })
    for (const status of ['created', 'scheduling', 'loading', 'stopping'] as const) {
      expect(nextPolicyAction({ ...facts, status }, rented)).toMatchObject({ kind: 'stop' })
    }
    const lapses = { at: later(5), kind: 'lapse' }
    expect(nextPolicyAction({ ...facts, targetState: 'stopped' }, rented)).toEqual(lapses)
    expect(nextPolicyAction({ ...facts, status: 'exited' }, rented)).toEqual(lapses)
  })

  it('stops a running instance at stopAtCost', () => {
    const facts = ofHours(100, { ...announced, stopAtCostNanos: 1_000_000_000n, meters: meters() })
    expect(nextPolicyAction(facts, rented)).toEqual({ at: later(2), kind: 'stop', code: 'COST_LIMIT' })
    expect(nextPolicyAction({ ...facts, stopAt: later(1) }, rented)).toMatchObject({ at: later(1), code: 'SCHEDULE' })
    expect(nextPolicyAction({ ...facts, targetState: 'stopped' }, rented)).toMatchObject({
      at: later(100),
      kind: 'destroy',
    })
  })

  it('stops a running instance at once when stopAtCost pays for no further instant', () => {
    const paid = meters(499_999_999n).map(meter => ({ ...meter, rateNanos: 0n }))
    const facts = ofHours(100, {
      ...announced,
      gpuPriceNanos: 400_000_000n,
      stopAtCostNanos: 1_000_000_000n,
      meters: paid,
    })
    expect(nextPolicyAction(facts, later(3))).toEqual({ at: later(3), kind: 'stop', code: 'COST_LIMIT' })
    expect(nextPolicyAction({ ...facts, targetState: 'stopped' }, later(3))).toMatchObject({ kind: 'destroy' })
    expect(nextPolicyAction({ ...facts, stopAtCostNanos: 1_000_001_000n }, later(3))).toMatchObject({ kind: 'destroy' })
  })

  it('destroys an instance at destroyAt, but no later than the end of its rental', () => {
    const facts = ofHours(100, { ...announced, destroyAt: later(50) })
    expect(nextPolicyAction(facts, rented)).toMatchObject({
      at: later(50),
      kind: 'destroy',
      reason: { code: 'SCHEDULE' },
    })
    const late = { ...facts, destroyAt: later(101) }
    expect(nextPolicyAction(late, rented)).toMatchObject({ at: later(100), reason: { code: 'RENTAL_ENDED' } })
  })

  it('stops a running instance once it is idle for long enough', () => {
    const facts = ofHours(100, { announcedAt: later(1), idleGpuPercent: 5, idleSeconds: 600, idledSeconds: 600 })
    expect(nextPolicyAction(facts, later(2))).toEqual({ at: later(2), kind: 'stop', code: 'IDLE' })
    for (const change of [
      ...[{ idledSeconds: 599 }, { idledSeconds: null }, { idleSeconds: null, idleGpuPercent: null }],
      ...[{ targetState: 'stopped' as const }, { status: 'exited' as const }],
    ])
      expect(nextPolicyAction({ ...facts, ...change }, later(2))).toMatchObject({ kind: 'destroy', at: later(100) })
    // Its instant is not known in advance, so it ends no meter.
    expect(policyMeterEnds(facts).gpu).toEqual(later(100))
  })

  it('destroys an instance that was stopped for destroyAfterStoppedSeconds', () => {
    const stopped = { status: 'stopped', targetState: 'stopped', statusChangedAt: later(3) } as const
    const facts = ofHours(100, { ...announced, ...stopped, destroyStoppedMs: BigInt(2 * hour) })
    expect(nextPolicyAction(facts, rented)).toMatchObject({
      at: later(5),
      kind: 'destroy',
      reason: { code: 'SCHEDULE' },
    })
    expect(nextPolicyAction({ ...facts, targetState: 'running' }, rented)).toMatchObject({ at: later(100) })
  })

  it('performs only the end once the end is past', () => {
    const facts = ofHours(100, { stopAt: later(5), destroyAt: later(50) })
    expect(nextPolicyAction(facts, later(49))).toMatchObject({ kind: 'stop' })
    expect(nextPolicyAction(facts, later(50))).toMatchObject({ at: later(50), kind: 'destroy' })
    // The earlier of two ends counts.
    expect(nextPolicyAction({ ...facts, destroyAt: later(60) }, later(200))).toMatchObject({ at: later(60) })
  })

  it('ends the meters on time, even if its action is late', () => {
    const facts = ofHours(100, { stopAt: later(5), destroyAt: later(50), meters: meters() })
    expect(policyMeterEnds(facts)).toEqual({ gpu: later(5), disk: later(50) })
    expect(policyMeterEnds({ ...facts, stopAtCostNanos: 1_000_000_000n })).toEqual({
      gpu: later(2),
      disk: later(50),
    })
    expect(policyMeterEnds({ ...facts, targetState: 'stopped' })).toEqual({ gpu: later(50), disk: later(50) })
    expect(policyMeterEnds({ ...facts, destroyAt: later(2) })).toEqual({ gpu: later(2), disk: later(2) })
    expect(policyMeterEnds(ofHours(100))).toEqual({ gpu: later(100), disk: later(100) })
  })
})

describe('the start of a stop', () => {
  const changed = { statusChangedAt: later(3), claimedAt: later(1) }

  it('is the last change of the status or of the target state', () => {
    expect(stoppedSince({ ...changed, status: 'stopped', targetState: 'stopped' })).toEqual(later(3))
    const stoppedLater = { ...changed, claimedAt: later(4) }
    expect(stoppedSince({ ...stoppedLater, status: 'stopped', targetState: 'stopped' })).toEqual(later(4))
    expect(stoppedSince({ ...changed, status: 'created', targetState: 'stopped' })).toEqual(later(3))
  })

  it('is the end of an instance that ended on its own, whatever its target state', () => {
    for (const status of ['exited', 'offline', 'unknown'] as const) {
      expect(stoppedSince({ ...changed, claimedAt: later(9), status, targetState: 'running' })).toEqual(later(3))
    }
  })

  it('is null while an instance runs or should run', () => {
    for (const status of ['scheduling', 'loading', 'running', 'stopping'] as const) {
      expect(stoppedSince({ ...changed, status, targetState: 'stopped' })).toBeNull()
    }
    expect(stoppedSince({ ...changed, status: 'stopped', targetState: 'running' })).toBeNull()
  })
})

describe('a start', () => {
  const stopped = { status: 'stopped', targetState: 'stopped', gpuPriceNanos: 400_000_000n } as const
  const resting = (chargedNanos: bigint) => meters(chargedNanos).map(meter => ({ ...meter, rateNanos: 0n }))

  it('is refused when stopAtCost does not pay for the first instant', () => {
    const facts = ofHours(100, { ...stopped, stopAtCostNanos: 1_000_000_000n, meters: resting(499_999_999n) })
    expect(startRefusal(facts, later(1))).toContain(
      'The instance has cost $0.999999998, and its policy stops it at a cost of $1',
    )
    expect(startRefusal({ ...facts, meters: resting(499_999_900n) }, later(1))).toBeUndefined()
    expect(startRefusal({ ...facts, stopAtCostNanos: null }, later(1))).toBeUndefined()
  })

  it('is refused once the destruction is due', () => {
    const facts = ofHours(100, { ...stopped, destroyAt: later(5) })
    expect(startRefusal(facts, later(5))).toBe(
      'The instance is about to be destroyed, because its policy or the end of its rental is due.',
    )
    expect(startRefusal(facts, later(4))).toBeUndefined()
  })
})

describe('a replacement', () => {
  const loading = { status: 'loading' as const, replaceSeconds: 600, announcedAt: rented }
  const dueAt = new Date(rented.getTime() + 600_000)

  it('is due when the instance does not run in time since its last start', () => {
    expect(nextPolicyAction(ofHours(100, loading), rented)).toEqual({ at: dueAt, kind: 'replace' })
    const startedAgain = { ...loading, claimedAt: later(1) }
    expect(nextPolicyAction(ofHours(100, startedAgain), rented)?.at).toEqual(new Date(later(1).getTime() + 600_000))
  })

  it('is due at once when the start has failed, and not because of the renter', () => {
    const exited = { ...loading, status: 'exited' as const, statusChangedAt: later(0.1) }
    expect(nextPolicyAction(ofHours(100, exited), later(1))).toMatchObject({ kind: 'destroy' })
    const failed = { ...exited, startFailed: true }
    expect(nextPolicyAction(ofHours(100, failed), later(1))).toEqual({ at: later(0.1), kind: 'replace' })
  })

  it('waits for an earlier stop, and is not due for an instance that is stopped or has run', () => {
    const stopped = { ...loading, stopAt: later(0.1) }
    expect(nextPolicyAction(ofHours(100, stopped), later(1))).toMatchObject({ at: later(0.1), kind: 'stop' })
    expect(nextPolicyAction(ofHours(100, { ...loading, targetState: 'stopped' }), later(1))).toMatchObject({
      kind: 'destroy',
    })
    expect(nextPolicyAction(ofHours(100, { ...loading, startedAt: rented }), later(1))).toMatchObject({
      kind: 'destroy',
    })
  })

  it('ends no meter: it is not known whether another instance is rented', () => {
    expect(policyMeterEnds(ofHours(100, loading))).toEqual({ gpu: later(100), disk: later(100) })
  })
})
