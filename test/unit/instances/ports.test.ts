import { describe, expect, it } from 'vitest'
import { choosePorts, portsToBind, proxyWarnings, servedMode } from '../../../src/domain/instances/ports.ts'
import { type LaunchMode, launchModes } from '../../../src/domain/launch/launch.ts'
import { aListedMachine } from '../../support/instances/claims.ts'

const machine = aListedMachine({ firstPort: 20_000, lastPort: 20_002 })
const hostPortsFor = (requested: number[], taken: number[] = []) =>
  choosePorts(
    machine,
    new Set(taken),
    requested.map(hostPort => ({ hostPort, containerPort: 80, protocol: 'tcp' as const })),
  ).map(({ hostPort }) => hostPort)

describe('public ports', () => {
  it.each<[what: string, requested: number[], taken: number[], ports: number[]]>([
    ['the requested ports, including the first and the last of the range', [20_002, 20_000], [], [20_002, 20_000]],
    ['the lowest free ports, for a requested port that is taken', [20_001], [20_000, 20_001], [20_002]],
    [
      'the lowest free ports, for requested ports outside the range',
      [80, 19_999, 20_003],
      [],
      [20_000, 20_001, 20_002],
    ],
    ['two different ports, for a number that is requested twice', [20_001, 20_001], [], [20_001, 20_000]],
  ])('are %s', (_what, requested, taken, ports) => {
    expect(hostPortsFor(requested, taken)).toEqual(ports)
  })

  it('keep the container port and the protocol', () => {
    expect(choosePorts(machine, new Set(), [{ hostPort: 53, containerPort: 5_353, protocol: 'udp' }])).toEqual([
      { hostPort: 20_000, containerPort: 5_353, protocol: 'udp' },
    ])
  })

  it('cannot exceed the range of the machine', () => {
    expect(() => hostPortsFor([1, 2, 3, 4])).toThrow("although the machine's count of free ports says otherwise")
  })
})

const tcp = (containerPort: number, hostPort = containerPort) => ({ hostPort, containerPort, protocol: 'tcp' as const })

describe('a launch mode', () => {
  it.each<[mode: LaunchMode, ports: number[], served: LaunchMode]>([
    ['sshProxy', [22], 'sshDirect'],
    ['jupyterProxy', [8080, 22], 'jupyterDirect'],
  ])('is served on public ports when there is no proxy: %s', (mode, ports, served) => {
    const bound = portsToBind({ mode, ports: [tcp(80)] }, false)
    expect(bound).toEqual([...ports.map(port => tcp(port)), tcp(80)])
    expect(servedMode(mode, bound)).toBe(served)
    expect(proxyWarnings({ mode }, false)).toEqual([expect.stringContaining('no SSH proxy')])
  })

  it('gets no second port when port 22 is already requested', () => {
    expect(portsToBind({ mode: 'sshProxy', ports: [tcp(22, 2222)] }, false)).toEqual([tcp(22, 2222)])
  })

  it.each(launchModes)('gets no port of its own when there is a proxy: %s', mode => {
    const ports = [tcp(80)]
    expect(portsToBind({ mode, ports }, true)).toEqual(ports)
    expect(servedMode(mode, ports)).toBe(mode)
    expect(proxyWarnings({ mode }, true)).toEqual([])
  })

  it.each(['sshDirect', 'jupyterDirect', 'args'] as const)(
    'gets no additional ports without a proxy if it uses no proxy: %s',
    mode => {
      expect(portsToBind({ mode, ports: [] }, false)).toEqual([])
      expect(proxyWarnings({ mode }, false)).toEqual([])
    },
  )
})
