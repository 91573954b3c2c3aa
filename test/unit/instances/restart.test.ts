import { describe, expect, it } from 'vitest'
import { decideRestart, type Restartable } from '../../../src/domain/instances/restart.ts'
import { finalStatuses } from '../../../src/domain/instances/states.ts'

const running: Restartable = {
  ...{ id: 1n, targetState: 'running', status: 'running', interruptible: false, restart: null, hasRun: true },
}

describe('a restart that is asked for', () => {
  it.each<[Partial<Restartable>]>([
    [{ restart: 'reboot' }],
    [{ restart: 'reboot', status: 'stopping' }],
    [{ restart: null, status: 'stopping' }],
    [{ restart: null, status: 'loading' }],
    [{ restart: 'recycle', status: 'stopping' }],
    [{ restart: 'anew', status: 'loading' }],
  ])('as a reboot is under way: %j', facts => {
    expect(decideRestart({ ...running, ...facts }, 'reboot')).toBeUndefined()
  })

  it.each<[Partial<Restartable>]>([
    [{ restart: 'recycle' }],
    [{ restart: 'recycle', status: 'stopping' }],
    [{ restart: 'anew', status: 'loading' }],
    [{ restart: 'anew', status: 'stopped', targetState: 'stopped' }],
  ])('as a recycle is under way: %j', facts => {
    expect(decideRestart({ ...running, ...facts }, 'recycle')).toBeUndefined()
  })

  it('as a recycle is more than a reboot', () => {
    expect(decideRestart({ ...running, restart: 'reboot', status: 'stopping' }, 'recycle')).toBe('recycle')
  })

  it.each<[Partial<Restartable>]>([
    [{ status: 'loading', hasRun: false }],
    [{ status: 'created', hasRun: false, restart: 'recycle' }],
    [{ status: 'running', targetState: 'stopped', restart: 'reboot' }],
    [{ status: 'stopping', targetState: 'stopped', restart: 'reboot' }],
    [{ status: 'stopped', targetState: 'stopped', restart: 'anew' }],
    ...finalStatuses.map((status): [Partial<Restartable>] => [{ status, restart: 'reboot' }]),
  ])('as a reboot is refused: %j', facts => {
    expect(() => decideRestart({ ...running, ...facts }, 'reboot')).toThrow(/^The instance /)
  })

  it.each(finalStatuses)('as a recycle is refused where it is %s, whatever was under way', status => {
    expect(() => decideRestart({ ...running, status, restart: 'anew' }, 'recycle')).toThrow(/never runs again/)
  })
})
