import { describe, expect, it } from 'vitest'
import { choosePorts, portsToBind, proxyWarnings, servedMode } from '../../../src/domain/instances/ports.ts'
import { type LaunchMode, launchModes } from '../../../src/domain/launch/launch.ts'
import { aListedMachine } from '../../support/instances/claims.ts'

const machine = aListedMachine({ firstPort: 20_000, lastPort: 20_002 })
const hostPortsFor = (wishes: number[], taken: number[] = []) =>
  choosePorts(
    machine,
    new Set(taken),
    wishes.map(hostPort => ({ hostPort, containerPort: 80, protocol: 'tcp' as const })),
  ).map(({ hostPort }) => hostPort)

describe('public ports', () => {
  it.each<[what: string, wishes: number[], taken: number[], ports: number[]]>([
    ['as wished, also the first and the last', [20_002, 20_000], [], [20_002, 20_000]],
    ['the lowest that is free, where another has it', [20_001], [20_000, 20_001], [20_002]],
    ['the lowest that is free, where it is not in the range', [80, 19_999, 20_003], [], [20_000, 20_001, 20_002]],
    ['two for one number that is wished twice', [20_001, 20_001], [], [20_001, 20_000]],
  ])('are %s', (_what, wishes, taken, ports) => {
    expect(hostPortsFor(wishes, taken)).toEqual(ports)
  })

  it('lead to the port in the container, by its protocol', () => {
    expect(choosePorts(machine, new Set(), [{ hostPort: 53, containerPort: 5_353, protocol: 'udp' }])).toEqual([
      { hostPort: 20_000, containerPort: 5_353, protocol: 'udp' },
    ])
  })

  it('are never more than there are', () => {
    expect(() => hostPortsFor([1, 2, 3, 4])).toThrow('although the machine counts free ports')
  })
})

const tcp = (containerPort: number, hostPort = containerPort) => ({ hostPort, containerPort, protocol: 'tcp' as const })

describe('a mode that goes through the SSH proxy', () => {
  it.each<[mode: LaunchMode, ports: number[], served: LaunchMode]>([
    ['sshProxy', [22], 'sshDirect'],
    ['jupyterProxy', [8080, 22], 'jupyterDirect'],
  ])('is served on public ports where there is no proxy: %s', (mode, ports, served) => {
    const bound = portsToBind({ mode, ports: [tcp(80)] }, false)
    expect(bound).toEqual([...ports.map(port => tcp(port)), tcp(80)])
    expect(servedMode(mode, bound)).toBe(served)
    expect(proxyWarnings({ mode }, false)).toEqual([expect.stringContaining('no SSH proxy')])
  })

  it('gets no second port where port 22 is asked for anyway', () => {
    expect(portsToBind({ mode: 'sshProxy', ports: [tcp(22, 2222)] }, false)).toEqual([tcp(22, 2222)])
  })

  it.each(launchModes)('gets no port of its own where there is a proxy, and neither does any other: %s', mode => {
    const ports = [tcp(80)]
    expect(portsToBind({ mode, ports }, true)).toEqual(ports)
    expect(servedMode(mode, ports)).toBe(mode)
    expect(proxyWarnings({ mode }, true)).toEqual([])
  })

  it.each(['sshDirect', 'jupyterDirect', 'args'] as const)('is not what %s is: that stays as it is', mode => {
    expect(portsToBind({ mode, ports: [] }, false)).toEqual([])
    expect(proxyWarnings({ mode }, false)).toEqual([])
  })
})
