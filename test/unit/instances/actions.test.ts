// Compares what `actions` says of each state with what the decisions of the commands do.

import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import {
  type ActionFacts,
  availabilityOf,
  type InstanceAction,
  requireAction,
} from '../../../src/domain/instances/actions.ts'
import { decideBid } from '../../../src/domain/instances/bid.ts'
import { type InstanceCommand, planCommand } from '../../../src/domain/instances/command.ts'
import {
  finalStatuses,
  instanceStatuses,
  type RestartKind,
  targetStates,
} from '../../../src/domain/instances/states.ts'

const id = 7n
const instants = [null, new Date(0)]
const states: ActionFacts[] = targetStates.flatMap(targetState =>
  instanceStatuses.flatMap(status =>
    ([null, 'reboot', 'recycle', 'anew'] as const).flatMap(restart =>
      [true, false].flatMap(interruptible =>
        instants.flatMap(startedAt =>
          instants.map(destroyedAt => ({ targetState, status, restart, interruptible, startedAt, destroyedAt })),
        ),
      ),
    ),
  ),
)

type Outcome = { outcome: 'applied' | 'unchanged' } | { outcome: 'failed'; error: DomainError }

function plan(state: ActionFacts, command: InstanceCommand): Outcome {
  const [item] = planCommand([id], [{ id, label: null, stopAt: null, ...state }], command, false)
  if (!item || item.outcome === 'skipped') throw new Error('The command was not planned.')
  return item
}

function attempt(decide: () => boolean): Outcome {
  try {
    return { outcome: decide() ? 'applied' : 'unchanged' }
  } catch (error) {
    if (error instanceof DomainError) return { outcome: 'failed', error }
    throw error
  }
}

const block = { gpuPriceNanos: 1n, firstGpu: 0, numGpus: 1 }
const commands: Record<InstanceAction, (state: ActionFacts) => Outcome> = {
  start: state => plan(state, { kind: 'change', change: { targetState: 'running' } }),
  stop: state => plan(state, { kind: 'change', change: { targetState: 'stopped' } }),
  destroy: state => plan(state, { kind: 'destroy' }),
  reboot: state => attempt(() => requireAction('reboot', id, state)),
  recycle: state => attempt(() => requireAction('recycle', id, state)),
  updateBid: state => attempt(() => decideBid({ id, ...state, ...block }, 1n, 2n) !== 'unchanged'),
}

/** Every action in every state, with what `actions` says and what the command does. */
const cases = states.flatMap(state =>
  availabilityOf(state).map(said => ({ state, ...said, result: commands[said.action](state) })),
)

describe('the actions of an instance', () => {
  it('are available exactly when their commands change it', () => {
    const wrong = cases.filter(({ available, result }) => available !== (result.outcome === 'applied'))
    expect(wrong).toEqual([])
  })

  it('have the reason of the refusal', () => {
    const refused = cases.flatMap(({ state, action, reason, result }) =>
      result.outcome === 'failed' && !state.destroyedAt ? [{ state, action, reason, error: result.error }] : [],
    )
    expect(refused.length).toBeGreaterThan(0)
    const differs = refused.filter(
      ({ reason, error }) => [error.code, error.message].join() !== `INVALID_STATE,${reason?.message}`,
    )
    expect(differs).toEqual([])
  })

  it('that change nothing have a reason that says how the instance already is', () => {
    const reasons = cases.flatMap(({ action, reason, result }) =>
      result.outcome === 'unchanged' ? [`${action} ${reason?.code}`] : [],
    )
    expect([...new Set(reasons)].sort()).toEqual([
      'destroy DESTROYED',
      'reboot ALREADY_RESTARTING',
      'recycle ALREADY_RESTARTING',
      'start ALREADY_RUNNING',
      'stop ALREADY_STOPPED',
      'stop TERMINAL',
    ])
  })

  it('are all refused on a destroyed instance, except another destruction, which changes nothing', () => {
    const answers = cases.flatMap(({ state, action, reason, result }) => {
      const cause = result.outcome === 'failed' && result.error.code === 'INVALID_STATE' && result.error.details.cause
      return state.destroyedAt ? [`${action} ${reason?.code} ${cause || result.outcome}`] : []
    })
    expect([...new Set(answers)]).toEqual([
      'start DESTROYED destroyed',
      'stop DESTROYED destroyed',
      'reboot DESTROYED destroyed',
      'recycle DESTROYED destroyed',
      'updateBid DESTROYED destroyed',
      'destroy DESTROYED unchanged',
    ])
  })
})

type Restartable = Omit<ActionFacts, 'interruptible'>

const running: Restartable = {
  ...{ targetState: 'running', status: 'running', destroyedAt: null, restart: null },
  startedAt: new Date(0),
}

const isWritten = (facts: Restartable, kind: RestartKind) => requireAction(kind, id, facts)

describe('a requested restart', () => {
  it.each<[Partial<Restartable>]>([
    [{ restart: 'reboot' }],
    [{ restart: 'reboot', status: 'stopping' }],
    [{ restart: 'recycle', status: 'stopping' }],
    [{ restart: 'anew', status: 'loading' }],
  ])('is not written when a reboot is already under way: %j', facts => {
    expect(isWritten({ ...running, ...facts }, 'reboot')).toBe(false)
  })

  it.each<[Partial<Restartable>]>([
    [{ restart: 'recycle' }],
    [{ restart: 'recycle', status: 'stopping' }],
    [{ restart: 'anew', status: 'loading' }],
    [{ restart: 'anew', status: 'stopped', targetState: 'stopped' }],
  ])('is not written when a recycle is already under way: %j', facts => {
    expect(isWritten({ ...running, ...facts }, 'recycle')).toBe(false)
  })

  it('is written when a recycle follows a pending reboot', () => {
    expect(isWritten({ ...running, restart: 'reboot', status: 'stopping' }, 'recycle')).toBe(true)
  })

  it.each<[Partial<Restartable>]>([
    [{ status: 'stopping' }],
    [{ status: 'loading' }],
    [{ status: 'loading', startedAt: null }],
    [{ status: 'created', startedAt: null, restart: 'recycle' }],
    [{ status: 'running', targetState: 'stopped', restart: 'reboot' }],
    [{ status: 'stopping', targetState: 'stopped', restart: 'reboot' }],
    [{ status: 'stopped', targetState: 'stopped', restart: 'anew' }],
    ...finalStatuses.map((status): [Partial<Restartable>] => [{ status, restart: 'reboot' }]),
  ])('is refused as a reboot: %j', facts => {
    expect(() => isWritten({ ...running, ...facts }, 'reboot')).toThrow(/^The instance /)
  })

  it.each(finalStatuses)('is refused as a recycle of an instance that is %s, even with a restart under way', status => {
    expect(() => isWritten({ ...running, status, restart: 'anew' }, 'recycle')).toThrow(/never runs again/)
  })
})
