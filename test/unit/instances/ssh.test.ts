import { describe, expect, it } from 'vitest'
import { parseSshUser, type SshFacts, sshEnding, sshRefusal } from '../../../src/domain/instances/ssh.ts'
import { instanceStatuses } from '../../../src/domain/instances/states.ts'

describe('the user name of an SSH login', () => {
  it.each(['ins_42', '42'])('%j names an instance', user => {
    expect(parseSshUser(user)).toBe(42n)
    expect(parseSshUser('9223372036854775807')).toBe(2n ** 63n - 1n)
  })

  const others = ['0', '042', 'ins_', 'root', 'INS_42', ' 42', '42 ', '-1', '4e2', 'ins_ins_42', '']
  it.each(['9223372036854775808', ...others])('%j names none', user => {
    expect(parseSshUser(user)).toBeUndefined()
  })
})

describe('an SSH login', () => {
  const running: SshFacts = {
    ...{ id: 42n, status: 'running', targetState: 'running', isDestroyed: false, vm: false, mode: 'sshProxy' },
    isDisabled: false,
  }

  it('can use a running instance only, and says what to do otherwise', () => {
    const refusals = instanceStatuses.map(status => [status, sshRefusal({ ...running, status })])
    const final = (status: string) =>
      `ins_42 has the status ${status} and never runs again. Destroy it, and rent another.`
    expect(Object.fromEntries(refusals)).toEqual({
      created: 'ins_42 is starting. Try again when it runs.',
      scheduling: 'ins_42 waits for its GPUs. Try again when it runs.',
      loading: 'ins_42 is starting. Try again when it runs.',
      running: undefined,
      stopping: 'ins_42 is starting. Try again when it runs.',
      stopped: 'ins_42 is starting. Try again when it runs.',
      exited: final('exited'),
      offline: final('offline'),
      unknown: final('unknown'),
    })
    const down = { ...running, targetState: 'stopped' } as const
    expect(sshRefusal({ ...down, status: 'stopped' })).toBe('ins_42 is stopped. Start it first.')
    expect(sshRefusal({ ...down, status: 'stopping' })).toBe('ins_42 is stopping. Start it first.')
  })

  it('needs a mode that has SSH', () => {
    expect(sshRefusal({ ...running, mode: 'args' })).toContain('ins_42 was rented in args mode, which has no SSH.')
    expect(sshRefusal({ ...running, mode: 'args', vm: true })).toBeUndefined()
  })

  it('is of no use while the account is disabled, and ends then', () => {
    const disabled = 'An operator of the service has disabled the account.'
    expect(sshRefusal({ ...running, isDisabled: true })).toBe(disabled)
    expect(sshEnding(42n, { hasKey: true, isDestroyed: false, isDisabled: true })).toBe(disabled)
  })

  it('ends with its key, and with its instance', () => {
    const facts = { hasKey: true, isDestroyed: false, isDisabled: false }
    expect(sshEnding(42n, facts)).toBeUndefined()
    expect(sshEnding(42n, { ...facts, hasKey: false })).toBe('Your SSH key was removed from ins_42.')
    expect(sshEnding(42n, { ...facts, isDestroyed: true })).toBe('ins_42 was destroyed.')
  })
})
