import { describe, expect, it } from 'vitest'
import type { Observed } from '../../../src/domain/instances/containers.ts'
import { finalStatuses, instanceStatuses, targetStates } from '../../../src/domain/instances/states.ts'
import { confirmMs, isUnconfirmed } from '../../../src/reconciler/confirmation.ts'
import { type Desired, type Plan, makePlan as planWithin } from '../../../src/reconciler/plan.ts'

const limits = { startTimeoutMs: 30 * 60_000, offlineGraceMs: 5 * 60_000 }
const plan = (wish: Desired, truth: Observed): Plan => planWithin(wish, truth, limits)

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
const all = desiredStates.flatMap(wish => observations.map(truth => ({ wish, truth, next: plan(wish, truth) })))
const living = all.filter(({ wish }) => !wish.destroyed)
const reachable = living.filter(({ truth }) => truth.state !== 'unreachable')

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
  it('is there for everything that can be wished and seen', () => {
    expect(all).toHaveLength(2 * 9 * 32 * 6 * 10)
    for (const { next } of all) {
      expect(instanceStatuses).toContain(next.status)
      expect(next.steps.length).toBeLessThanOrEqual(1)
    }
  })

  it('has nothing left to do where it is settled', () => {
    for (const { next } of all) if (next.settled) expect(next.steps).toEqual([])
  })

  it('never starts or makes what ended, and leaves it ended', () => {
    for (const { wish, next } of living.filter(({ wish }) => finalStatuses.includes(wish.status))) {
      expect(next.steps).not.toContain('start')
      expect(next.steps).not.toContain('ensure')
      expect(next.status).toBe(wish.status)
    }
  })

  it('starts nothing without its GPUs, and nothing that is to be stopped', () => {
    for (const { wish, next } of reachable.filter(({ wish }) => !wish.granted || wish.targetState === 'stopped')) {
      expect(next.steps).not.toContain('start')
      expect(next.steps).not.toContain('ensure')
      expect(next.status === 'running').toBe(false)
      expect(wish.destroyed).toBe(false)
    }
  })

  it('removes what was destroyed and what is down and to be made anew, and nothing else', () => {
    for (const { wish, truth, next } of all) {
      const recycles = wish.restart === 'recycle' && !finalStatuses.includes(wish.status)
      const isUp = ['starting', 'running', 'stopping'].includes(truth.state)
      const isThere = !['absent', 'unreachable'].includes(truth.state)
      expect(next.steps.includes('remove')).toBe(isThere && (wish.destroyed || (recycles && !isUp)))
      if (wish.destroyed && truth.state === 'absent') expect(next).toMatchObject({ steps: [], settled: true })
    }
  })

  it('says running only of what runs', () => {
    for (const { truth, next } of reachable) if (next.status === 'running') expect(truth.state).toBe('running')
  })

  it('says why, of whatever has not just been made', () => {
    for (const { wish, next } of living) {
      if (finalStatuses.includes(wish.status) || next.status === 'created') continue
      expect(next.reason?.message).toBeTruthy()
    }
  })
})

describe('what is to run', () => {
  it.each<[Observed['state'], string[], string]>([
    ['absent', ['ensure'], 'loading'],
    ['preparing', [], 'loading'],
    ['prepared', ['start'], 'loading'],
    ['starting', [], 'loading'],
    ['running', [], 'running'],
    ['stopping', [], 'stopping'],
    ['stopped', ['start'], 'loading'],
  ])('and is %s: %j, and is called %s', (state, steps, status) => {
    expect(plan(aDesired(), { state, sshKeys: ['a'] } as Observed)).toMatchObject({ steps, status })
  })

  it('has exited when it ended by itself', () => {
    const reason = { code: 'EXITED', exitCode: 3 }
    expect(plan(aDesired({ status: 'running' }), { state: 'exited', exitCode: 3, sshKeys: [] })).toMatchObject({
      ...{ steps: [], status: 'exited', settled: true },
      reason,
    })
  })

  it('starts again when it ended while it was to be stopped', () => {
    const truth: Observed = { state: 'exited', exitCode: 0, sshKeys: ['a'] }
    expect(plan(aDesired({ status: 'stopping', hasRun: true }), truth).steps).toEqual(['start'])
  })

  it('is lost when it ran and its container is gone', () => {
    const next = plan(aDesired({ status: 'running', hasRun: true }), { state: 'absent' })
    expect(next).toMatchObject({ steps: [], status: 'unknown', reason: { code: 'CONTAINER_LOST' } })
  })

  it.each([
    [false, false, 'WAITING_FOR_GPUS'],
    [true, false, 'WAITING_FOR_GPUS'],
    [true, true, 'OUTBID'],
  ])('is told why it waits (bid: %s, ran: %s): %s', (interruptible, hasRun, code) => {
    const next = plan(aDesired({ granted: false, interruptible, hasRun }), { state: 'stopped', sshKeys: [] })
    expect(next).toMatchObject({ steps: [], status: 'scheduling', reason: { code }, settled: true })
  })
})

describe('the keys that log in', () => {
  const states = ['prepared', 'running', 'stopped'] as const
  const next = (facts: Partial<Desired>, state: (typeof states)[number], sshKeys: string[]) =>
    plan(aDesired(facts), { state, sshKeys }).steps

  it.each(states)('are changed where they are others than was wished, while it is %s', state => {
    for (const sshKeys of [['a'], ['a', 'b', 'c'], ['a', 'c'], []]) {
      expect(next({ sshKeys: ['a', 'b'] }, state, sshKeys)).toEqual(['setSshKeys'])
    }
    expect(next({ sshKeys: [] }, state, ['a'])).toEqual(['setSshKeys'])
  })

  it.each(states)('are left alone where they are as was wished, in any order, while it is %s', state => {
    const otherwise = state === 'running' ? [] : ['start']
    expect(next({ sshKeys: ['a', 'b'] }, state, ['b', 'a'])).toEqual(otherwise)
    expect(next({ sshKeys: [] }, state, [])).toEqual(otherwise)
  })

  it.each(states)('stay what they are where nobody can change them, while it is %s', state => {
    expect(next({ sshKeys: null }, state, ['a'])).not.toContain('setSshKeys')
  })

  it('are in place before it starts, also after it ended by itself', () => {
    const truth: Observed = { state: 'exited', exitCode: 0, sshKeys: ['b'] }
    expect(plan(aDesired({ status: 'stopped', hasRun: true }), truth).steps).toEqual(['setSshKeys'])
  })

  it("are nobody's business of what is not to run", () => {
    for (const { wish, next } of all) {
      if (wish.targetState === 'running' && wish.granted && !wish.destroyed) continue
      expect(next.steps).not.toContain('setSshKeys')
    }
  })

  it('make no difference to what it is called', () => {
    expect(plan(aDesired({ sshKeys: ['b'] }), { state: 'running', sshKeys: ['a'] })).toEqual({
      steps: ['setSshKeys'],
      status: 'running',
      reason: { code: 'STARTED', message: expect.any(String) },
      settled: false,
    })
  })
})

describe('what is to be rebooted', () => {
  const wish = aDesired({ status: 'running', hasRun: true, restart: 'reboot' })

  it.each<[Observed['state'], string[], string]>([
    ['starting', ['stop'], 'stopping'],
    ['running', ['stop'], 'stopping'],
    ['stopping', [], 'stopping'],
  ])('and is %s is brought down first: %j, and is called %s', (state, steps, status) => {
    const next = plan(wish, { state, sshKeys: ['a'] } as Observed)
    expect(next).toEqual({ steps, status, reason: { code: 'REBOOTING', message: expect.any(String) }, settled: false })
  })

  it.each<[Observed['state']]>([['stopped'], ['exited']])(
    'and is %s is written down as that before it starts',
    state => {
      const truth = { state, sshKeys: ['a'], exitCode: 0 } as Observed
      const next = plan(wish, truth)
      expect(next).toMatchObject({ steps: [], restart: null, settled: false })
      expect(plan({ ...wish, status: next.status, restart: null }, truth)).toMatchObject({ steps: ['start'] })
    },
  )

  it('is lost all the same when its container is gone', () => {
    expect(plan(wish, { state: 'absent' })).toMatchObject({ status: 'unknown', reason: { code: 'CONTAINER_LOST' } })
  })

  it.each<[Partial<Desired>]>([[{ targetState: 'stopped' }], [{ granted: false }]])(
    'is stopped like anything else when it is not to run, and nothing is left of it: %j',
    facts => {
      for (const truth of observations.filter(({ state }) => state !== 'unreachable')) {
        const stopped = plan({ ...wish, ...facts, restart: null }, truth)
        expect(plan({ ...wish, ...facts }, truth)).toEqual({ ...stopped, restart: null })
      }
    },
  )

  it.each(['stopped', 'scheduling'] as const)('is not called stopping where it was %s already', status => {
    const next = plan({ ...wish, status }, { state: 'stopped', sshKeys: ['a'] })
    expect(next).toMatchObject({ steps: [], status, restart: null, settled: false })
  })
})

describe('what is to be made anew', () => {
  const wish = aDesired({ status: 'running', hasRun: true, restart: 'recycle' })

  it.each<[Observed['state'], string[], string]>([
    ['preparing', ['remove'], 'loading'],
    ['prepared', ['remove'], 'loading'],
    ['starting', ['stop'], 'stopping'],
    ['running', ['stop'], 'stopping'],
    ['stopping', [], 'stopping'],
    ['stopped', ['remove'], 'loading'],
    ['exited', ['remove'], 'loading'],
    ['failed', ['remove'], 'loading'],
  ])('and is %s: %j, and is called %s', (state, steps, status) => {
    const next = plan(wish, { state, sshKeys: ['a'] } as Observed)
    expect(next).toEqual({ steps, status, reason: { code: 'RECYCLING', message: expect.any(String) }, settled: false })
  })

  it('is made once its old container is gone, which is written down first', () => {
    expect(plan(wish, { state: 'absent' })).toMatchObject({ steps: [], restart: 'anew', settled: false })
    expect(plan({ ...wish, restart: 'anew' }, { state: 'absent' })).toMatchObject({ steps: ['ensure'] })
    const runs = plan({ ...wish, restart: 'anew' }, { state: 'running', sshKeys: ['a'] })
    expect(runs).toMatchObject({ status: 'running', restart: null, settled: true })
  })

  it('stays stopped when it is not to run, and is not taken for lost', () => {
    const stopped = { ...wish, targetState: 'stopped', status: 'stopped' } as const
    expect(plan(stopped, { state: 'stopped', sshKeys: [] })).toMatchObject({ steps: ['remove'], status: 'stopped' })
    expect(plan(stopped, { state: 'absent' })).toMatchObject({ restart: 'anew', status: 'stopped' })
    const gone = plan({ ...stopped, restart: 'anew' }, { state: 'absent' })
    expect(gone).toMatchObject({ steps: [], status: 'stopped', settled: true })
  })
})

describe('what is to be started anew and never comes to it', () => {
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
  ])('by a %s, and is called %s while it is %s, ends by the limit of what loads', (restart, status, state) => {
    const truth = { state, sshKeys: ['a'] } as Observed
    const waits = aDesired({ hasRun: true, refused: true, restart })
    const ended = { steps: [], status: 'exited', reason: { code: 'START_TIMEOUT' } }
    expect(plan({ ...waits, ...refusedMs(status, limitMs) }, truth)).toMatchObject(ended)
    expect(plan({ ...waits, ...refusedMs(status, limitMs - 1) }, truth).status).toBe(status)
  })

  it('goes on when it is down at last, however late', () => {
    const wish = aDesired({ status: 'stopping', hasRun: true, stoppingMs: limitMs })
    const stopped: Observed = { state: 'stopped', sshKeys: ['a'] }
    expect(plan({ ...wish, restart: 'reboot' }, stopped)).toMatchObject({ status: 'stopping', restart: null })
    expect(plan({ ...wish, restart: 'recycle' }, stopped)).toMatchObject({ steps: ['remove'], status: 'loading' })
    expect(plan(wish, stopped)).toMatchObject({ steps: ['start'], status: 'loading' })
  })
})

describe('what is to be stopped', () => {
  const wish = aDesired({ targetState: 'stopped', status: 'running', hasRun: true })

  it.each<[Observed['state'], string[], string, boolean]>([
    ['running', ['stop'], 'stopping', false],
    ['starting', ['stop'], 'stopping', false],
    ['stopping', [], 'stopping', false],
    ['stopped', [], 'stopped', true],
  ])('and is %s: %j, is called %s, and that is all: %s', (state, steps, status, settled) => {
    expect(plan(wish, { state } as Observed)).toMatchObject({ steps, status, settled })
  })

  it('is stopped, and not exited, when it ended by itself meanwhile', () => {
    expect(plan(wish, { state: 'exited', exitCode: 1, sshKeys: [] })).toMatchObject({
      status: 'stopped',
      settled: true,
    })
  })
})

describe('what has ended', () => {
  it.each(finalStatuses.flatMap(status => booleans.map(granted => [status, granted] as const)))(
    'and is called %s (granted: %s) is looked at again while its container is stopping, and no more once it is down',
    (status, granted) => {
      const wish = aDesired({ status, granted, hasRun: true })
      expect(plan(wish, { state: 'stopping' })).toEqual({ steps: [], status, settled: false })
      expect(plan(wish, { state: 'stopped', sshKeys: [] })).toEqual({ steps: [], status, settled: true })
    },
  )
})

describe('a machine', () => {
  const silent: Observed = { state: 'unreachable' }
  const isOwing = (facts: Partial<Desired>, status: Plan['status']) =>
    isUnconfirmed(aDesired(facts), silent, { steps: [], status, settled: false })

  it('owes an answer as soon as an instance is offline, however short its grace is', () => {
    expect(isOwing({ status: 'running', unreachableMs: 1_000 }, 'offline')).toBe(true)
    expect(isOwing({ status: 'running', unreachableMs: 1_000 }, 'running')).toBe(false)
  })

  it('owes one for what is to be down after a while', () => {
    const facts = { status: 'stopping', targetState: 'stopped' } as const
    expect(isOwing({ ...facts, unreachableMs: confirmMs - 1 }, 'stopping')).toBe(false)
    expect(isOwing({ ...facts, unreachableMs: confirmMs }, 'stopping')).toBe(true)
  })
})
