import { describe, expect, it } from 'vitest'
import type { Observed } from '../../../src/domain/instances/containers.ts'
import { endOf, findingOf, retryAt } from '../../../src/reconciler/finding.ts'
import type { InstanceState } from '../../../src/reconciler/instance-state.ts'
import type { InstanceLease } from '../../../src/services/reconciliation/leases.ts'

const now = new Date('2026-11-21T12:00:00.000Z')
const minuteMs = 60_000
const limits = { startTimeoutMs: 30 * minuteMs, offlineGraceMs: 5 * minuteMs }
const later = (ms: number) => new Date(now.getTime() + ms)
const msUntil = (instant: Date | null | undefined) => instant && instant.getTime() - now.getTime()

const anInstance = (facts: Partial<InstanceState> = {}): InstanceState => ({
  ...{
    targetState: 'stopped',
    targetReason: null,
    targetMessage: null,
    holdsGpus: true,
    interruptible: false,
    destroyed: false,
  },
  ...{ status: 'stopped', hasRun: true, refused: false, restart: null, sshKeys: null },
  ...{ unreachableMs: 0, loadingMs: 0, stoppingMs: 0, ...facts },
})
const finding = (
  observed: Observed,
  plan: { settled: boolean; restart?: null },
  facts: Partial<InstanceState> = {},
) => {
  const instance = anInstance(facts)
  return findingOf(instance, observed, { step: null, status: instance.status, ...plan }, now)
}

describe('the next pass over an instance', () => {
  it.each<[string, Observed, number | null]>([
    ['never, without a container', { state: 'absent' }, null],
    ['in ten minutes, for a container at rest', { state: 'stopped', sshKeys: [] }, 10 * minuteMs],
    ['in a minute, for a container that runs', { state: 'running', sshKeys: [] }, minuteMs],
    ['when a container is to end', { state: 'running', sshKeys: [], until: later(7_000) }, 7_000],
    [
      'in a minute, for a container that is to end later',
      { state: 'running', sshKeys: [], until: later(70_000) },
      minuteMs,
    ],
  ])('is due %s', (_, observed, expected) => {
    expect(msUntil(finding(observed, { settled: true }).dueAt)).toBe(expected)
  })

  it('is due in two seconds while a container changes, and at once after progress of a restart', () => {
    expect(msUntil(finding({ state: 'starting' }, { settled: false }).dueAt)).toBe(2_000)
    expect(msUntil(finding({ state: 'absent' }, { settled: false, restart: null }).dueAt)).toBe(0)
  })

  it.each([
    [0, {}, 1_000],
    [3, {}, 8_000],
    [6, {}, minuteMs],
    [3, { unreachableMs: 5 * minuteMs - 1 }, 1],
    [3, { unreachableMs: 5 * minuteMs }, 8_000],
    [20, { destroyed: true, unreachableMs: 20 * minuteMs }, 2 * minuteMs],
    [20, { status: 'exited' as const, unreachableMs: 3_000 * minuteMs }, 10 * minuteMs],
  ])('after %i retries of %j is due in %i ms', (attempts, facts, expected) => {
    expect(msUntil(retryAt({ attempts } as InstanceLease, anInstance(facts), limits, now))).toBe(expected)
  })
})

describe('a stop', () => {
  const running: Observed = { state: 'running', sshKeys: [] }

  it.each([299_999, 300_000])(
    'that its machine has not confirmed counts as unconfirmed after five minutes: %i ms',
    ms => {
      const isLate = ms === 300_000
      expect(finding(running, { settled: true }, { stoppingMs: ms }).unconfirmed).toBe(isLate)
      expect(finding({ state: 'unreachable' }, { settled: false }, { unreachableMs: ms }).unconfirmed).toBe(isLate)
    },
  )

  it('that nobody asked for is not unconfirmed, however long the machine does not answer', () => {
    const facts = { targetState: 'running', status: 'running', unreachableMs: 300_000 } as const
    expect(finding({ state: 'unreachable' }, { settled: false }, facts).unconfirmed).toBe(false)
    expect(finding({ state: 'unreachable' }, { settled: false }, { ...facts, holdsGpus: false }).unconfirmed).toBe(true)
  })
})

describe('the end of a container', () => {
  const endedAt = later(-7_000)

  it.each<[Observed, Date | null | undefined]>([
    [{ state: 'exited', exitCode: 3, sshKeys: [], endedAt }, endedAt],
    [{ state: 'exited', exitCode: 3, sshKeys: [] }, null],
    [{ state: 'failed', code: 'IMAGE_PULL_FAILED', message: 'There is no such image.' }, null],
    [{ state: 'absent' }, null],
    [{ state: 'running', sshKeys: [] }, undefined],
  ])('that is %j was at %j', (observed, expected) => {
    expect(endOf(observed)).toEqual(expected)
  })
})
