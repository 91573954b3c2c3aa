import { expect, it } from 'vitest'
import { hasLoadTimedOut, instanceStateOf } from '../../../src/reconciler/instance-state.ts'
import type { InstanceLease } from '../../../src/services/reconciliation/leases.ts'

const minuteMs = 60_000
const limits = { startTimeoutMs: 30 * minuteMs, offlineGraceMs: 5 * minuteMs }
const now = new Date('2026-11-21T12:00:00.000Z')

it('counts no time as longer than the clock has run steadily', () => {
  const since = new Date(now.getTime() - 61 * minuteMs)
  const lease = { status: 'loading', statusChangedAt: since, unreachableAt: since, destroyedAt: null }
  const stateAfter = (steadyMs: number) =>
    instanceStateOf(lease as InstanceLease, { now: () => now, steadyMs: () => steadyMs })
  const steady = stateAfter(Number.POSITIVE_INFINITY)
  expect([steady.loadingMs, steady.unreachableMs]).toEqual([61 * minuteMs, 61 * minuteMs])
  expect(hasLoadTimedOut(steady, limits)).toBe(true)
  const set = stateAfter(minuteMs)
  expect([set.loadingMs, set.unreachableMs]).toEqual([minuteMs, minuteMs])
  expect(hasLoadTimedOut(set, limits)).toBe(false)
  expect(hasLoadTimedOut(stateAfter(30 * minuteMs), limits)).toBe(true)
})

it.each([
  ['stopping', null, 60_000],
  ['exited', null, 60_000],
  ['running', null, 0],
  ['running', new Date(now.getTime() - 30_000), 30_000],
])('counts how long an instance has been %s and destroyed since %j', (status, destroyedAt, expected) => {
  const statusChangedAt = new Date(now.getTime() - 60_000)
  const lease = { status, statusChangedAt, unreachableAt: null, destroyedAt } as InstanceLease
  const clock = { now: () => now, steadyMs: () => Number.POSITIVE_INFINITY }
  expect(instanceStateOf(lease, clock).stoppingMs).toBe(expected)
})
