import { describe, expect, it } from 'vitest'
import { type AccessFacts, accessOf } from '../../../src/domain/instances/access.ts'
import type { LaunchMode } from '../../../src/domain/launch/launch.ts'

const proxy = { host: 'gateway.example', port: 4222 }
const publicPort = { containerPort: 22, hostPort: 20_000, protocol: 'tcp' as const }
const simulatedWarning = expect.stringContaining('The machine is simulated')

function accessTo(mode: LaunchMode, facts: Partial<AccessFacts>) {
  const launch = { mode } as AccessFacts['launch']
  const running = { id: 7n, status: 'running', destroyedAt: null, machine: { publicIp: '198.18.0.1' } } as const
  const unreachable = { portBindings: [], sshProxy: null, notebookProxy: null, simulated: false }
  return accessOf({ ...running, launch, ...unreachable, ...facts })
}

describe('the warning of an instance', () => {
  it.each<[LaunchMode, Partial<AccessFacts>]>([
    ['sshDirect', { portBindings: [publicPort] }],
    ['sshProxy', { portBindings: [publicPort] }],
    ['jupyterDirect', { portBindings: [publicPort], sshProxy: proxy }],
    ['args', {}],
  ])('says that a simulated machine runs nothing, in the mode %s', (mode, facts) => {
    expect(accessTo(mode, { ...facts, simulated: true })?.warning).toEqual(simulatedWarning)
    expect(accessTo(mode, facts)?.warning).toBeNull()
  })

  it('is absent if the gateway serves SSH to a simulated machine', () => {
    const access = accessTo('sshProxy', { sshProxy: proxy, simulated: true })
    expect(access).toMatchObject({ warning: null, ssh: { command: 'ssh -p 4222 ins_7@gateway.example' } })
  })

  it.each([true, false])('says that SSH cannot be reached, whether the machine is simulated or not: %s', simulated => {
    const warning = expect.stringContaining('SSH login is not possible')
    expect(accessTo('sshProxy', { simulated })).toMatchObject({ warning, ssh: null })
  })
})
