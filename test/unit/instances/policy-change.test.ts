import { describe, expect, it } from 'vitest'
import {
  changedPolicyFields,
  decidePolicy,
  mergePolicy,
  policyEventDetails,
  policyIssues,
  policyWarnings,
} from '../../../src/domain/instances/policy/change.ts'
import { noPolicy, type PolicyFacts } from '../../../src/domain/instances/policy/policy.ts'

const now = new Date('2026-11-21T12:00:00.000Z')
const later = (ms: number) => new Date(now.getTime() + ms)
const issuesOf = (input: Parameters<typeof mergePolicy>[0], facts?: PolicyFacts) =>
  policyIssues(mergePolicy(input, facts), facts, now)

const stopped: PolicyFacts = {
  ...noPolicy,
  createdAt: later(-9_000_000),
  endsAt: later(9_000_000),
  destroyedAt: null,
  announcedAt: null,
  targetState: 'stopped',
  status: 'stopped',
  statusChangedAt: later(-60_000),
  claimedAt: later(-61_000),
  gpuPriceNanos: 1n,
  idledSeconds: null,
  startedAt: null,
  replaceSeconds: null,
  startFailed: false,
  meters: [
    { kind: 'gpu', rateNanos: 0n, since: later(-60_000), carried: 0, chargedNanos: 500n, end: null },
    { kind: 'disk', rateNanos: 3_600_000n, since: later(-100), carried: 0, chargedNanos: 400n, end: null },
  ],
}

describe('a policy input', () => {
  it('keeps the fields that it does not name, and removes those that are null', () => {
    const before = { ...noPolicy, stopAt: later(5), stopAtCostNanos: 5n, destroyAt: later(6), destroyStoppedMs: 7000n }
    expect(mergePolicy({}, before)).toEqual(before)
    expect(mergePolicy({ stopAt: null, destroyStoppedSeconds: null }, before)).toEqual({
      ...before,
      stopAt: null,
      destroyStoppedMs: null,
    })
    expect(mergePolicy({ stopAtCostNanos: null, destroyAt: null, destroyStoppedSeconds: 9 }, before)).toEqual({
      ...before,
      stopAtCostNanos: null,
      destroyAt: null,
      destroyStoppedMs: 9000n,
    })
    expect(mergePolicy({})).toEqual(noPolicy)
  })

  it('keeps, sets and removes both parts of stopWhenIdle together', () => {
    const before = { ...noPolicy, idleGpuPercent: 5, idleSeconds: 600 }
    expect(mergePolicy({ stopAt: null }, before)).toEqual(before)
    expect(mergePolicy({ stopWhenIdle: null }, before)).toEqual(noPolicy)
    expect(mergePolicy({ stopWhenIdle: { gpuPercent: 5, seconds: 600 } })).toEqual(before)
  })

  it('bounds both parts of stopWhenIdle', () => {
    expect(issuesOf({ stopWhenIdle: { gpuPercent: 0, seconds: 59 } })).toEqual([
      { path: 'stopWhenIdle.gpuBelowPercent', message: 'must be from 1 to 100, not 0.' },
      { path: 'stopWhenIdle.forSeconds', message: 'must be from 60 to 2592000, not 59.' },
    ])
    expect(issuesOf({ stopWhenIdle: { gpuPercent: 100, seconds: 2_592_000 } })).toEqual([])
  })

  it('is compared by value', () => {
    const before = { ...noPolicy, stopAt: later(5), stopAtCostNanos: 5n, destroyStoppedMs: 7000n }
    expect(changedPolicyFields({ ...before, stopAt: later(5) }, before)).toEqual([])
    expect(changedPolicyFields({ ...before, stopAt: later(6), destroyStoppedMs: null }, before)).toEqual([
      'stopAt',
      'destroyStoppedMs',
    ])
  })
})

describe('a policy', () => {
  it('can have only instants in the next ten years', () => {
    for (const name of ['stopAt', 'destroyAt'] as const) {
      expect(issuesOf({ [name]: now })).toMatchObject([{ path: name }])
      expect(issuesOf({ [name]: later(1) })).toEqual([])
      expect(issuesOf({ [name]: later(3650 * 86_400_000) })).toEqual([])
      expect(issuesOf({ [name]: later(3650 * 86_400_000 + 1) })).toMatchObject([{ path: name }])
    }
  })

  it('can have only a cost limit that is positive and not yet reached', () => {
    expect(issuesOf({ stopAtCostNanos: 0n })).toEqual([{ path: 'stopAtCost', message: 'must be more than 0.' }])
    expect(issuesOf({ stopAtCostNanos: 1n })).toEqual([])
    expect(issuesOf({ stopAtCostNanos: 1000n }, stopped)).toEqual([
      { path: 'stopAtCost', message: 'must be more than $0.000001, which the instance has already cost.' },
    ])
    expect(issuesOf({ stopAtCostNanos: 1001n }, stopped)).toEqual([])
  })

  it('can have only a stopped time that has not passed yet', () => {
    const path = 'destroyAfterStoppedSeconds'
    for (const seconds of [-1, 0, 315_360_001])
      expect(issuesOf({ destroyStoppedSeconds: seconds })).toMatchObject([{ path }])
    for (const seconds of [1, 315_360_000]) expect(issuesOf({ destroyStoppedSeconds: seconds })).toEqual([])
    expect(issuesOf({ destroyStoppedSeconds: 60 }, stopped)).toEqual([
      { path, message: 'must be more than 60 seconds, because the instance has already been stopped that long.' },
    ])
    expect(issuesOf({ destroyStoppedSeconds: 61 }, stopped)).toEqual([])
    expect(issuesOf({ destroyStoppedSeconds: 61 }, { ...stopped, statusChangedAt: later(-60_999) })).toEqual([])
    expect(issuesOf({ destroyStoppedSeconds: 1 }, { ...stopped, targetState: 'running' })).toEqual([])
  })

  it('can stay unchanged after its limits have passed', () => {
    const reached = { ...stopped, stopAtCostNanos: 3n, stopAt: later(-5), destroyStoppedMs: 1000n }
    const same = { stopAtCostNanos: 3n, stopAt: later(-5), destroyStoppedSeconds: 1 }
    expect(decidePolicy(reached, same, now)).toBeNull()
    expect(decidePolicy(reached, { ...same, stopAtCostNanos: 2000n }, now)).toMatchObject({ stopAtCostNanos: 2000n })
    expect(() => decidePolicy(reached, { stopAtCostNanos: 4n }, now)).toThrow('which the instance has already cost')
  })

  it('causes a warning when the rental ends before its instants', () => {
    const policy = { ...noPolicy, stopAt: later(5), destroyAt: later(4) }
    expect(policyWarnings(policy, later(5))).toEqual([expect.stringContaining('stopAt is after the end')])
    expect(policyWarnings(policy, later(6))).toEqual([])
  })

  it('has its GraphQL names and units in events', () => {
    const policy = {
      ...noPolicy,
      stopAt: now,
      stopAtCostNanos: 5n,
      destroyStoppedMs: 7000n,
      idleGpuPercent: 5,
      idleSeconds: 60,
    }
    expect(policyEventDetails(policy, ['stopAt', 'stopAtCostNanos', 'destroyAt', 'destroyStoppedMs'])).toEqual({
      stopAt: now.toISOString(),
      stopAtCostNanos: '5',
      destroyAt: null,
      destroyAfterStoppedSeconds: 7,
    })
    expect(policyEventDetails(policy, ['destroyAt'])).toEqual({ destroyAt: null })
    expect(policyEventDetails(policy, ['idleGpuPercent', 'idleSeconds'])).toEqual({
      ...{ stopWhenGpuBelowPercent: 5, stopWhenIdleForSeconds: 60 },
    })
  })
})
