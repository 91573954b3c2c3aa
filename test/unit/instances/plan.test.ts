import { describe, expect, it } from 'vitest'
import type { Observed } from '../../../src/domain/instances/containers.ts'
import { finalStatuses, instanceStatuses, targetStates } from '../../../src/domain/instances/states.ts'
import { confirmMs, isUnconfirmed } from '../../../src/reconciler/confirmation.ts'
import { type Desired, type Plan, makePlan as planWithin } from '../../../src/reconciler/plan.ts'

const limits = { startTimeoutMs: 30 * 60_000, offlineGraceMs: 5 * 60_000 }
const plan = (desired: Desired, observed: Observed): Plan => planWithin(desired, observed, limits)

const observations: Observed[] = [
  { state: 'unreachable' },
  { state: 'absent' },
  { state: 'preparing' },
  { state: 'prepared', sshKeys: ['a'] },
  { state: 'starting' },
  { state: 'running', sshKeys: ['a'] },
  { state: 'stopping' },
  { state: 'stopped', sshKeys: ['a'] },
  { state: 'exited', exitCode: 3, sshKeys: ['a'] },
  { state: 'failed', code: 'IMAGE_PULL_FAILED', message: 'There is no such image.' },
]
const booleans = [true, false]
const restarts = [null, 'reboot', 'recycle', 'anew'] as const
const noTime = { unreachableMs: 0, loadingMs: 0, stoppingMs: 0 }

const desiredStates: Desired[] = targetStates.flatMap(targetState =>
  instanceStatuses.flatMap(status =>
    booleans.flatMap(granted =>
      booleans.flatMap(interruptible =>
        booleans.flatMap(destroyed =>
          booleans.flatMap(hasRun =>
            booleans.flatMap(refused =>
              restarts.flatMap(restart =>
                (restart ? [['a']] : [null, ['a'], ['b']]).map(sshKeys => {
                  const facts = { targetState, status, granted, interruptible, destroyed, hasRun, refused, restart }
                  return { ...noTime, ...facts, targetReason: null, sshKeys }
                }),
              ),
            ),
          ),
        ),
      ),
    ),
  ),
)
const all = desiredStates.flatMap(desired =>
  observations.map(observed => ({ desired, observed, next: plan(desired, observed) })),
)
const living = all.filter(({ desired }) => !desired.destroyed)
const reachable = living.filter(({ observed }) => observed.state !== 'unreachable')

const aDesired = (facts: Partial<Desired> = {}): Desired => ({
  targetState: 'running',
  granted: true,
  interruptible: false,
  destroyed: false,
  status: 'created',
  hasRun: false,
  refused: false,
  restart: null,
  targetReason: null,
  sshKeys: ['a'],
  ...noTime,
  ...facts,
})

describe('a plan', () => {
  it('exists for every combination of desired and observed state', () => {
    expect(all).toHaveLength(2 * 9 * 32 * 6 * 10)
    for (const { next } of all) {
      expect(instanceStatuses).toContain(next.status)
      expect(next.steps.length).toBeLessThanOrEqual(1)
    }
  })

  it('has no steps when it is settled', () => {
    for (const { next } of all) if (next.settled) expect(next.steps).toEqual([])
  })

  it('never starts or makes an instance with a final status, and keeps that status', () => {
    for (const { desired, next } of living.filter(({ desired }) => finalStatuses.includes(desired.status))) {
      expect(next.steps).not.toContain('start')
      expect(next.steps).not.toContain('ensure')
      expect(next.status).toBe(desired.status)
    }
  })

  it('starts no instance without its GPUs, and none that is to be stopped', () => {
    for (const { desired, next } of reachable.filter(
      ({ desired }) => !desired.granted || desired.targetState === 'stopped',
    )) {
      expect(next.steps).not.toContain('start')
      expect(next.steps).not.toContain('ensure')
      expect(next.status === 'running').toBe(false)
      expect(desired.destroyed).toBe(false)
    }
  })

  it('removes only destroyed instances and stopped containers that are recycled', () => {
    for (const { desired, observed, next } of all) {
      const recycles = desired.restart === 'recycle' && !finalStatuses.includes(desired.status)
      const isUp = ['starting', 'running', 'stopping'].includes(observed.state)
      const isThere = !['absent', 'unreachable'].includes(observed.state)
      expect(next.steps.includes('remove')).toBe(isThere && (desired.destroyed || (recycles && !isUp)))
      if (desired.destroyed && observed.state === 'absent') expect(next).toMatchObject({ steps: [], settled: true })
    }
  })

  it('has the status running only for a running container', () => {
    for (const { observed, next } of reachable) if (next.status === 'running') expect(observed.state).toBe('running')
  })

  it('has a reason for every status except created', () => {
    for (const { desired, next } of living) {
      if (finalStatuses.includes(desired.status) || next.status === 'created') continue
      expect(next.reason?.message).toBeTruthy()
    }
  })
})

describe('an instance that is to run', () => {
  it.each<[Observed['state'], string[], string]>([
    ['absent', ['ensure'], 'loading'],
    ['preparing', [], 'loading'],
    ['prepared', ['start'], 'loading'],
    ['starting', [], 'loading'],
    ['running', [], 'running'],
    ['stopping', [], 'stopping'],
    ['stopped', ['start'], 'loading'],
  ])('with a container that is %s gets the steps %j and the status %s', (state, steps, status) => {
    expect(plan(aDesired(), { state, sshKeys: ['a'] } as Observed)).toMatchObject({ steps, status })
  })

  it('becomes exited when its container ended on its own', () => {
    const reason = { code: 'EXITED', exitCode: 3 }
    expect(plan(aDesired({ status: 'running' }), { state: 'exited', exitCode: 3, sshKeys: [] })).toMatchObject({
      ...{ steps: [], status: 'exited', settled: true },
      reason,
    })
  })

  it('starts again when its container ended while it was being stopped', () => {
    const observed: Observed = { state: 'exited', exitCode: 0, sshKeys: ['a'] }
    expect(plan(aDesired({ status: 'stopping', hasRun: true }), observed).steps).toEqual(['start'])
  })

  it('becomes unknown when it ran and its container is gone', () => {
    const next = plan(aDesired({ status: 'running', hasRun: true }), { state: 'absent' })
    expect(next).toMatchObject({ steps: [], status: 'unknown', reason: { code: 'CONTAINER_LOST' } })
  })

  it.each([
    [false, false, 'WAITING_FOR_GPUS'],
    [true, false, 'WAITING_FOR_GPUS'],
    [true, true, 'OUTBID'],
  ])('has a reason while it waits (bid: %s, ran: %s): %s', (interruptible, hasRun, code) => {
    const next = plan(aDesired({ granted: false, interruptible, hasRun }), { state: 'stopped', sshKeys: [] })
    expect(next).toMatchObject({ steps: [], status: 'scheduling', reason: { code }, settled: true })
  })
})

describe('the SSH keys of a container', () => {
  const states = ['prepared', 'running', 'stopped'] as const
  const next = (facts: Partial<Desired>, state: (typeof states)[number], sshKeys: string[]) =>
    plan(aDesired(facts), { state, sshKeys }).steps

  it.each(states)('are set when they differ from the desired keys, while it is %s', state => {
    for (const sshKeys of [['a'], ['a', 'b', 'c'], ['a', 'c'], []]) {
      expect(next({ sshKeys: ['a', 'b'] }, state, sshKeys)).toEqual(['setSshKeys'])
    }
    expect(next({ sshKeys: [] }, state, ['a'])).toEqual(['setSshKeys'])
  })

  it.each(states)('are not set when they match the desired keys in any order, while it is %s', state => {
    const otherSteps = state === 'running' ? [] : ['start']
    expect(next({ sshKeys: ['a', 'b'] }, state, ['b', 'a'])).toEqual(otherSteps)
    expect(next({ sshKeys: [] }, state, [])).toEqual(otherSteps)
  })

  it.each(states)('are not set when they cannot be changed, while it is %s', state => {
    expect(next({ sshKeys: null }, state, ['a'])).not.toContain('setSshKeys')
  })

  it('are set before the container starts, also after it ended on its own', () => {
    const observed: Observed = { state: 'exited', exitCode: 0, sshKeys: ['b'] }
    expect(plan(aDesired({ status: 'stopped', hasRun: true }), observed).steps).toEqual(['setSshKeys'])
  })

  it('are not set for an instance that is not to run', () => {
    for (const { desired, next } of all) {
      if (desired.targetState === 'running' && desired.granted && !desired.destroyed) continue
      expect(next.steps).not.toContain('setSshKeys')
    }
  })

  it('do not affect the status', () => {
    expect(plan(aDesired({ sshKeys: ['b'] }), { state: 'running', sshKeys: ['a'] })).toEqual({
      steps: ['setSshKeys'],
      status: 'running',
      reason: { code: 'STARTED', message: expect.any(String) },
      settled: false,
    })
  })
})

describe('an instance that is rebooted', () => {
  const desired = aDesired({ status: 'running', hasRun: true, restart: 'reboot' })

  it.each<[Observed['state'], string[], string]>([
    ['starting', ['stop'], 'stopping'],
    ['running', ['stop'], 'stopping'],
    ['stopping', [], 'stopping'],
  ])('and whose container is %s stops first with the steps %j and the status %s', (state, steps, status) => {
    const next = plan(desired, { state, sshKeys: ['a'] } as Observed)
    expect(next).toEqual({ steps, status, reason: { code: 'REBOOTING', message: expect.any(String) }, settled: false })
  })

  it.each<[Observed['state']]>([['stopped'], ['exited']])(
    'and whose container is %s is recorded as down before it starts',
    state => {
      const observed = { state, sshKeys: ['a'], exitCode: 0 } as Observed
      const next = plan(desired, observed)
      expect(next).toMatchObject({ steps: [], restart: null, settled: false })
      expect(plan({ ...desired, status: next.status, restart: null }, observed)).toMatchObject({ steps: ['start'] })
    },
  )

  it('becomes unknown when its container is gone', () => {
    expect(plan(desired, { state: 'absent' })).toMatchObject({ status: 'unknown', reason: { code: 'CONTAINER_LOST' } })
  })

  it.each<[Partial<Desired>]>([[{ targetState: 'stopped' }], [{ granted: false }]])(
    'is stopped like any other when it is not to run, and its reboot ends: %j',
    facts => {
      for (const observed of observations.filter(({ state }) => state !== 'unreachable')) {
        const stopped = plan({ ...desired, ...facts, restart: null }, observed)
        expect(plan({ ...desired, ...facts }, observed)).toEqual({ ...stopped, restart: null })
      }
    },
  )

  it.each(['stopped', 'scheduling'] as const)('keeps the status %s instead of stopping', status => {
    const next = plan({ ...desired, status }, { state: 'stopped', sshKeys: ['a'] })
    expect(next).toMatchObject({ steps: [], status, restart: null, settled: false })
  })
})

describe('an instance that is recycled', () => {
  const desired = aDesired({ status: 'running', hasRun: true, restart: 'recycle' })

  it.each<[Observed['state'], string[], string]>([
    ['preparing', ['remove'], 'loading'],
    ['prepared', ['remove'], 'loading'],
    ['starting', ['stop'], 'stopping'],
    ['running', ['stop'], 'stopping'],
    ['stopping', [], 'stopping'],
    ['stopped', ['remove'], 'loading'],
    ['exited', ['remove'], 'loading'],
    ['failed', ['remove'], 'loading'],
  ])('with a container that is %s gets the steps %j and the status %s', (state, steps, status) => {
    const next = plan(desired, { state, sshKeys: ['a'] } as Observed)
    expect(next).toEqual({ steps, status, reason: { code: 'RECYCLING', message: expect.any(String) }, settled: false })
  })

  it('gets a new container after the removal of the old one is recorded', () => {
    expect(plan(desired, { state: 'absent' })).toMatchObject({ steps: [], restart: 'anew', settled: false })
    expect(plan({ ...desired, restart: 'anew' }, { state: 'absent' })).toMatchObject({ steps: ['ensure'] })
    const runs = plan({ ...desired, restart: 'anew' }, { state: 'running', sshKeys: ['a'] })
    expect(runs).toMatchObject({ status: 'running', restart: null, settled: true })
  })

  it('stays stopped without a container when it is not to run', () => {
    const stopped = { ...desired, targetState: 'stopped', status: 'stopped' } as const
    expect(plan(stopped, { state: 'stopped', sshKeys: [] })).toMatchObject({ steps: ['remove'], status: 'stopped' })
    expect(plan(stopped, { state: 'absent' })).toMatchObject({ restart: 'anew', status: 'stopped' })
    const gone = plan({ ...stopped, restart: 'anew' }, { state: 'absent' })
    expect(gone).toMatchObject({ steps: [], status: 'stopped', settled: true })
  })
})

describe('a restart that never completes', () => {
  const limitMs = limits.startTimeoutMs
  const refusedMs = (status: 'loading' | 'stopping', ms: number) =>
    status === 'loading' ? { status, loadingMs: ms } : { status, stoppingMs: ms }

  it.each<['reboot' | 'recycle' | null, 'loading' | 'stopping', Observed['state']]>([
    ['reboot', 'stopping', 'running'],
    ['reboot', 'stopping', 'stopping'],
    ['recycle', 'stopping', 'running'],
    ['recycle', 'loading', 'stopped'],
    ['recycle', 'loading', 'preparing'],
    [null, 'stopping', 'stopping'],
  ])(
    'by a %s, with the status %s and a container that is %s, ends after the start timeout',
    (restart, status, state) => {
      const observed = { state, sshKeys: ['a'] } as Observed
      const waits = aDesired({ hasRun: true, refused: true, restart })
      const ended = { steps: [], status: 'exited', reason: { code: 'START_TIMEOUT' } }
      expect(plan({ ...waits, ...refusedMs(status, limitMs) }, observed)).toMatchObject(ended)
      expect(plan({ ...waits, ...refusedMs(status, limitMs - 1) }, observed).status).toBe(status)
    },
  )

  it('continues once the container is down, even after the timeout', () => {
    const desired = aDesired({ status: 'stopping', hasRun: true, stoppingMs: limitMs })
    const stopped: Observed = { state: 'stopped', sshKeys: ['a'] }
    expect(plan({ ...desired, restart: 'reboot' }, stopped)).toMatchObject({ status: 'stopping', restart: null })
    expect(plan({ ...desired, restart: 'recycle' }, stopped)).toMatchObject({ steps: ['remove'], status: 'loading' })
    expect(plan(desired, stopped)).toMatchObject({ steps: ['start'], status: 'loading' })
  })
})

describe('an instance that is to be stopped', () => {
  const desired = aDesired({ targetState: 'stopped', status: 'running', hasRun: true })

  it.each<[Observed['state'], string[], string, boolean]>([
    ['running', ['stop'], 'stopping', false],
    ['starting', ['stop'], 'stopping', false],
    ['stopping', [], 'stopping', false],
    ['stopped', [], 'stopped', true],
  ])('with a container that is %s gets the steps %j, the status %s and settled %s', (state, steps, status, settled) => {
    expect(plan(desired, { state } as Observed)).toMatchObject({ steps, status, settled })
  })

  it('becomes stopped, not exited, when its container ended on its own meanwhile', () => {
    expect(plan(desired, { state: 'exited', exitCode: 1, sshKeys: [] })).toMatchObject({
      status: 'stopped',
      settled: true,
    })
  })
})

describe('an instance with a final status', () => {
  it.each(finalStatuses.flatMap(status => booleans.map(granted => [status, granted] as const)))(
    'such as %s (granted: %s) gets another pass while its container stops, and none once it is down',
    (status, granted) => {
      const desired = aDesired({ status, granted, hasRun: true })
      expect(plan(desired, { state: 'stopping' })).toEqual({ steps: [], status, settled: false })
      expect(plan(desired, { state: 'stopped', sshKeys: [] })).toEqual({ steps: [], status, settled: true })
    },
  )
})

describe('a machine that does not answer', () => {
  const silent: Observed = { state: 'unreachable' }
  const isUnconfirmedFor = (facts: Partial<Desired>, status: Plan['status']) =>
    isUnconfirmed(aDesired(facts), silent, { steps: [], status, settled: false })

  it('is unconfirmed as soon as an instance is offline, even with a short grace period', () => {
    expect(isUnconfirmedFor({ status: 'running', unreachableMs: 1_000 }, 'offline')).toBe(true)
    expect(isUnconfirmedFor({ status: 'running', unreachableMs: 1_000 }, 'running')).toBe(false)
  })

  it('is unconfirmed once an instance should have been down for confirmMs', () => {
    const facts = { status: 'stopping', targetState: 'stopped' } as const
    expect(isUnconfirmedFor({ ...facts, unreachableMs: confirmMs - 1 }, 'stopping')).toBe(false)
    expect(isUnconfirmedFor({ ...facts, unreachableMs: confirmMs }, 'stopping')).toBe(true)
  })
})
