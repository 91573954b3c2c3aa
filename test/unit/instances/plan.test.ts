import { describe, expect, it } from 'vitest'
import type { Observed } from '../../../src/domain/instances/containers.ts'
import { finalStatuses, instanceStatuses, targetStates } from '../../../src/domain/instances/states.ts'
import { reasonMessages } from '../../../src/domain/reasons.ts'
import { confirmMs, isUnconfirmed } from '../../../src/reconciler/confirmation.ts'
import type { InstanceState } from '../../../src/reconciler/instance-state.ts'
import { type Plan, makePlan as planWithin } from '../../../src/reconciler/plan.ts'

const limits = { startTimeoutMs: 30 * 60_000, offlineGraceMs: 5 * 60_000 }
const plan = (instance: InstanceState, observed: Observed): Plan => planWithin(instance, observed, limits)

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

const instances: InstanceState[] = targetStates.flatMap(targetState =>
  instanceStatuses.flatMap(status =>
    booleans.flatMap(holdsGpus =>
      booleans.flatMap(interruptible =>
        booleans.flatMap(destroyed =>
          booleans.flatMap(hasRun =>
            booleans.flatMap(refused =>
              restarts.flatMap(restart =>
                (restart ? [['a']] : [null, ['a'], ['b']]).map(sshKeys => {
                  const facts = { targetState, status, holdsGpus, interruptible, destroyed, hasRun, refused, restart }
                  return { ...noTime, ...facts, targetReason: null, targetMessage: null, sshKeys }
                }),
              ),
            ),
          ),
        ),
      ),
    ),
  ),
)
const all = instances.flatMap(instance =>
  observations.map(observed => ({ instance, observed, next: plan(instance, observed) })),
)
const living = all.filter(({ instance }) => !instance.destroyed)
const reachable = living.filter(({ observed }) => observed.state !== 'unreachable')

const anInstance = (facts: Partial<InstanceState> = {}): InstanceState => ({
  targetState: 'running',
  holdsGpus: true,
  interruptible: false,
  destroyed: false,
  status: 'created',
  hasRun: false,
  refused: false,
  restart: null,
  targetReason: null,
  targetMessage: null,
  sshKeys: ['a'],
  ...noTime,
  ...facts,
})

describe('a plan', () => {
  it('exists for every combination of instance state and observation', () => {
    expect(all).toHaveLength(2 * 9 * 32 * 6 * 10)
    for (const { next } of all) {
      expect(instanceStatuses).toContain(next.status)
    }
  })

  it('has no step when it is settled', () => {
    for (const { next } of all) if (next.settled) expect(next.step).toBeNull()
  })

  it('is not settled while the container starts or stops', () => {
    const changing = all.filter(({ observed }) => observed.state === 'starting' || observed.state === 'stopping')
    expect(changing.filter(({ next }) => next.settled)).toEqual([])
  })

  it('never starts or makes an instance with a final status, and keeps that status', () => {
    for (const { instance, next } of living.filter(({ instance }) => finalStatuses.includes(instance.status))) {
      expect(next.step).not.toBe('start')
      expect(next.step).not.toBe('ensure')
      expect(next.status).toBe(instance.status)
    }
  })

  it('starts no instance without its GPUs, and no instance that should be stopped', () => {
    for (const { instance, next } of reachable.filter(
      ({ instance }) => !instance.holdsGpus || instance.targetState === 'stopped',
    )) {
      expect(next.step).not.toBe('start')
      expect(next.step).not.toBe('ensure')
      expect(next.status === 'running').toBe(false)
      expect(instance.destroyed).toBe(false)
    }
  })

  it('removes only destroyed instances and stopped containers that are recycled', () => {
    for (const { instance, observed, next } of all) {
      const recycles = instance.restart === 'recycle' && !finalStatuses.includes(instance.status)
      const isUp = ['starting', 'running', 'stopping'].includes(observed.state)
      const isThere = !['absent', 'unreachable'].includes(observed.state)
      expect(next.step === 'remove').toBe(isThere && (instance.destroyed || (recycles && !isUp)))
      if (instance.destroyed && observed.state === 'absent') expect(next).toMatchObject({ step: null, settled: true })
    }
  })

  it('has the status running only for a running container', () => {
    for (const { observed, next } of reachable) if (next.status === 'running') expect(observed.state).toBe('running')
  })

  it('has a reason for every status except created', () => {
    for (const { instance, next } of living) {
      if (finalStatuses.includes(instance.status) || next.status === 'created') continue
      expect(next.reason?.message).toBeTruthy()
    }
  })
})

describe('an instance that an operator stopped', () => {
  const stopped = { targetState: 'stopped', targetMessage: 'Spam.', status: 'running', hasRun: true } as const

  it.each(['OPERATOR_REQUEST', 'ACCOUNT_DISABLED'] as const)(
    'says what the operator wrote, with the reason %s',
    code => {
      const next = plan(anInstance({ ...stopped, targetReason: code }), { state: 'running', sshKeys: ['a'] })
      expect(next).toMatchObject({ step: 'stop', status: 'stopping', reason: { code, message: 'Spam.' } })
      const silent = plan(anInstance({ ...stopped, targetReason: code, targetMessage: null }), {
        state: 'stopped',
        sshKeys: ['a'],
      })
      expect(silent).toMatchObject({ status: 'stopped', reason: { code, message: reasonMessages[code] } })
    },
  )

  it('does not repeat it when a gateway of an older version stopped the instance since', () => {
    const next = plan(anInstance({ ...stopped, targetReason: 'USER_REQUEST' }), { state: 'stopped', sshKeys: ['a'] })
    expect(next.reason).toEqual({ code: 'USER_REQUEST', message: 'The renter asked to stop the instance.' })
  })
})

describe('an instance that should run', () => {
  it.each<[Observed['state'], Plan['step'], string]>([
    ['absent', 'ensure', 'loading'],
    ['preparing', null, 'loading'],
    ['prepared', 'start', 'loading'],
    ['starting', null, 'loading'],
    ['running', null, 'running'],
    ['stopping', null, 'stopping'],
    ['stopped', 'start', 'loading'],
  ])('with a container that is %s gets the step %j and the status %s', (state, step, status) => {
    expect(plan(anInstance(), { state, sshKeys: ['a'] } as Observed)).toMatchObject({ step, status })
  })

  it('becomes exited when its container ended on its own', () => {
    const reason = { code: 'EXITED', exitCode: 3 }
    expect(plan(anInstance({ status: 'running' }), { state: 'exited', exitCode: 3, sshKeys: [] })).toMatchObject({
      ...{ step: null, status: 'exited', settled: true },
      reason,
    })
  })

  it('starts again when its container ended while it was being stopped', () => {
    const observed: Observed = { state: 'exited', exitCode: 0, sshKeys: ['a'] }
    expect(plan(anInstance({ status: 'stopping', hasRun: true }), observed).step).toBe('start')
  })

  it('becomes unknown when it ran and its container is gone', () => {
    const next = plan(anInstance({ status: 'running', hasRun: true }), { state: 'absent' })
    expect(next).toMatchObject({ step: null, status: 'unknown', reason: { code: 'CONTAINER_LOST' } })
  })

  it.each([
    [false, false, 'WAITING_FOR_GPUS'],
    [true, false, 'WAITING_FOR_GPUS'],
    [true, true, 'OUTBID'],
  ])('has a reason while it waits (bid: %s, ran: %s): %s', (interruptible, hasRun, code) => {
    const next = plan(anInstance({ holdsGpus: false, interruptible, hasRun }), { state: 'stopped', sshKeys: ['a'] })
    expect(next).toMatchObject({ step: null, status: 'scheduling', reason: { code }, settled: true })
  })
})

describe('the SSH keys of a container', () => {
  const states = ['prepared', 'running', 'stopped'] as const
  const next = (facts: Partial<InstanceState>, state: (typeof states)[number], sshKeys: string[]) =>
    plan(anInstance(facts), { state, sshKeys }).step

  it.each(states)('are set when they differ from the desired keys, while it is %s', state => {
    for (const sshKeys of [['a'], ['a', 'b', 'c'], ['a', 'c'], []]) {
      expect(next({ sshKeys: ['a', 'b'] }, state, sshKeys)).toBe('setSshKeys')
    }
    expect(next({ sshKeys: [] }, state, ['a'])).toBe('setSshKeys')
  })

  it.each(states)('are not set when they match the desired keys in any order, while it is %s', state => {
    const otherStep = state === 'running' ? null : 'start'
    expect(next({ sshKeys: ['a', 'b'] }, state, ['b', 'a'])).toBe(otherStep)
    expect(next({ sshKeys: [] }, state, [])).toBe(otherStep)
  })

  it.each(states)('are not set when they cannot be changed, while it is %s', state => {
    expect(next({ sshKeys: null }, state, ['a'])).not.toBe('setSshKeys')
  })

  it('are set before the container starts, even after it ended on its own', () => {
    const observed: Observed = { state: 'exited', exitCode: 0, sshKeys: ['b'] }
    expect(plan(anInstance({ status: 'stopped', hasRun: true }), observed).step).toBe('setSshKeys')
  })

  it('are not set for an instance that should not run', () => {
    for (const { instance, next } of all) {
      if (instance.targetState === 'running' && instance.holdsGpus && !instance.destroyed) continue
      expect(next.step).not.toBe('setSshKeys')
    }
  })

  it('do not affect the status', () => {
    expect(plan(anInstance({ sshKeys: ['b'] }), { state: 'running', sshKeys: ['a'] })).toEqual({
      step: 'setSshKeys',
      status: 'running',
      reason: { code: 'STARTED', message: expect.any(String) },
      settled: false,
    })
  })
})

describe('an instance that is rebooted', () => {
  const instance = anInstance({ status: 'running', hasRun: true, restart: 'reboot' })

  it.each<[Observed['state'], Plan['step'], string]>([
    ['starting', 'stop', 'stopping'],
    ['running', 'stop', 'stopping'],
    ['stopping', null, 'stopping'],
  ])('and whose container is %s stops first, with the step %j and the status %s', (state, step, status) => {
    const next = plan(instance, { state, sshKeys: ['a'] } as Observed)
    expect(next).toEqual({ step, status, reason: { code: 'REBOOTING', message: expect.any(String) }, settled: false })
  })

  it.each<[Observed['state']]>([['stopped'], ['exited']])(
    'and whose container is %s is recorded as down before it starts',
    state => {
      const observed = { state, sshKeys: ['a'], exitCode: 0 } as Observed
      const next = plan(instance, observed)
      expect(next).toMatchObject({ step: null, restart: null, settled: false })
      expect(plan({ ...instance, status: next.status, restart: null }, observed)).toMatchObject({ step: 'start' })
    },
  )

  it('becomes unknown when its container is gone', () => {
    expect(plan(instance, { state: 'absent' })).toMatchObject({ status: 'unknown', reason: { code: 'CONTAINER_LOST' } })
  })

  it.each<[Partial<InstanceState>]>([[{ targetState: 'stopped' }], [{ holdsGpus: false }]])(
    'is stopped like any other instance when it should not run, and its reboot ends: %j',
    facts => {
      for (const observed of observations.filter(({ state }) => state !== 'unreachable')) {
        const stopped = plan({ ...instance, ...facts, restart: null }, observed)
        expect(plan({ ...instance, ...facts }, observed)).toEqual({ ...stopped, restart: null })
      }
    },
  )

  it.each(['stopped', 'scheduling'] as const)('keeps the status %s rather than getting the status stopping', status => {
    const next = plan({ ...instance, status }, { state: 'stopped', sshKeys: ['a'] })
    expect(next).toMatchObject({ step: null, status, restart: null, settled: false })
  })
})

describe('an instance that is recycled', () => {
  const instance = anInstance({ status: 'running', hasRun: true, restart: 'recycle' })

  it.each<[Observed['state'], Plan['step'], string]>([
    ['preparing', 'remove', 'loading'],
    ['prepared', 'remove', 'loading'],
    ['starting', 'stop', 'stopping'],
    ['running', 'stop', 'stopping'],
    ['stopping', null, 'stopping'],
    ['stopped', 'remove', 'loading'],
    ['exited', 'remove', 'loading'],
    ['failed', 'remove', 'loading'],
  ])('with a container that is %s gets the step %j and the status %s', (state, step, status) => {
    const next = plan(instance, { state, sshKeys: ['a'] } as Observed)
    expect(next).toEqual({ step, status, reason: { code: 'RECYCLING', message: expect.any(String) }, settled: false })
  })

  it('gets a new container after the removal of the old one is recorded', () => {
    expect(plan(instance, { state: 'absent' })).toMatchObject({ step: null, restart: 'anew', settled: false })
    expect(plan({ ...instance, restart: 'anew' }, { state: 'absent' })).toMatchObject({ step: 'ensure' })
    const runs = plan({ ...instance, restart: 'anew' }, { state: 'running', sshKeys: ['a'] })
    expect(runs).toMatchObject({ status: 'running', restart: null, settled: true })
  })

  it('stays stopped without a container if its target state is stopped', () => {
    const stopped = { ...instance, targetState: 'stopped', status: 'stopped' } as const
    expect(plan(stopped, { state: 'stopped', sshKeys: ['a'] })).toMatchObject({ step: 'remove', status: 'stopped' })
    expect(plan(stopped, { state: 'absent' })).toMatchObject({ restart: 'anew', status: 'stopped' })
    const gone = plan({ ...stopped, restart: 'anew' }, { state: 'absent' })
    expect(gone).toMatchObject({ step: null, status: 'stopped', settled: true })
  })
})

describe('a restart', () => {
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
    'of kind %s, with the status %s and a container that is %s, ends after the start timeout',
    (restart, status, state) => {
      const observed = { state, sshKeys: ['a'] } as Observed
      const waits = anInstance({ hasRun: true, refused: true, restart })
      const ended = { step: null, status: 'exited', reason: { code: 'START_TIMEOUT' } }
      expect(plan({ ...waits, ...refusedMs(status, limitMs) }, observed)).toMatchObject(ended)
      expect(plan({ ...waits, ...refusedMs(status, limitMs - 1) }, observed).status).toBe(status)
    },
  )

  it('continues once the container is down, even after the timeout', () => {
    const instance = anInstance({ status: 'stopping', hasRun: true, stoppingMs: limitMs })
    const stopped: Observed = { state: 'stopped', sshKeys: ['a'] }
    expect(plan({ ...instance, restart: 'reboot' }, stopped)).toMatchObject({ status: 'stopping', restart: null })
    expect(plan({ ...instance, restart: 'recycle' }, stopped)).toMatchObject({ step: 'remove', status: 'loading' })
    expect(plan(instance, stopped)).toMatchObject({ step: 'start', status: 'loading' })
  })
})

describe('an instance that should be stopped', () => {
  const instance = anInstance({ targetState: 'stopped', status: 'running', hasRun: true })

  it.each<[Observed['state'], Plan['step'], string, boolean]>([
    ['running', 'stop', 'stopping', false],
    ['starting', 'stop', 'stopping', false],
    ['stopping', null, 'stopping', false],
    ['stopped', null, 'stopped', true],
  ])('with a container that is %s gets the step %j, the status %s and settled %s', (state, step, status, settled) => {
    expect(plan(instance, { state } as Observed)).toMatchObject({ step, status, settled })
  })

  it('becomes stopped, not exited, when its container ended on its own meanwhile', () => {
    expect(plan(instance, { state: 'exited', exitCode: 1, sshKeys: [] })).toMatchObject({
      status: 'stopped',
      settled: true,
    })
  })
})

describe('an instance with a final status', () => {
  it.each(finalStatuses.flatMap(status => booleans.map(granted => [status, granted] as const)))(
    'such as %s (GPUs held: %s) gets another pass while its container stops, but not once the container is down',
    (status, holdsGpus) => {
      const instance = anInstance({ status, holdsGpus, hasRun: true })
      expect(plan(instance, { state: 'stopping' })).toEqual({ step: null, status, settled: false })
      expect(plan(instance, { state: 'stopped', sshKeys: ['a'] })).toEqual({ step: null, status, settled: true })
    },
  )
})

describe('a stop on a machine that does not answer', () => {
  const silent: Observed = { state: 'unreachable' }
  const isUnconfirmedFor = (facts: Partial<InstanceState>, status: Plan['status']) =>
    isUnconfirmed(anInstance(facts), silent, { step: null, status, settled: false })

  it('is unconfirmed as soon as the instance is offline, even with a short grace period', () => {
    expect(isUnconfirmedFor({ status: 'running', unreachableMs: 1_000 }, 'offline')).toBe(true)
    expect(isUnconfirmedFor({ status: 'running', unreachableMs: 1_000 }, 'running')).toBe(false)
  })

  it('is unconfirmed once the instance should have been down for confirmMs', () => {
    const facts = { status: 'stopping', targetState: 'stopped' } as const
    expect(isUnconfirmedFor({ ...facts, unreachableMs: confirmMs - 1 }, 'stopping')).toBe(false)
    expect(isUnconfirmedFor({ ...facts, unreachableMs: confirmMs }, 'stopping')).toBe(true)
  })
})
