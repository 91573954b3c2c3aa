import { describe, expect, it } from 'vitest'
import { decideRestart, type Restartable } from '../../../src/domain/instances/restart.ts'
import { finalStatuses } from '../../../src/domain/instances/states.ts'

const running: Restartable = {
  ...{ id: 1n, targetState: 'running', status: 'running', destroyedAt: null, restart: null },
  startedAt: new Date(0),
}

describe('a requested restart', () => {
  it.each<[Partial<Restartable>]>([
    [{ restart: 'reboot' }],
    [{ restart: 'reboot', status: 'stopping' }],
    [{ restart: 'recycle', status: 'stopping' }],
    [{ restart: 'anew', status: 'loading' }],
  ])('is not written when a reboot is already under way: %j', facts => {
    expect(decideRestart({ ...running, ...facts }, 'reboot')).toBeUndefined()
  })

  it.each<[Partial<Restartable>]>([
    [{ restart: 'recycle' }],
    [{ restart: 'recycle', status: 'stopping' }],
    [{ restart: 'anew', status: 'loading' }],
    [{ restart: 'anew', status: 'stopped', targetState: 'stopped' }],
  ])('is not written when a recycle is already under way: %j', facts => {
    expect(decideRestart({ ...running, ...facts }, 'recycle')).toBeUndefined()
  })

  it('is written when a recycle follows a pending reboot', () => {
    expect(decideRestart({ ...running, restart: 'reboot', status: 'stopping' }, 'recycle')).toBe('recycle')
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
    expect(() => decideRestart({ ...running, ...facts }, 'reboot')).toThrow(/^The instance /)
  })

  it.each(finalStatuses)('is refused as a recycle of an instance that is %s, even with a restart under way', status => {
    expect(() => decideRestart({ ...running, status, restart: 'anew' }, 'recycle')).toThrow(/never runs again/)
  })
})
