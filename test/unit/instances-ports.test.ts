import { describe, expect, it } from 'vitest'
import { choosePorts } from '../../src/domain/instances-ports.ts'
import { aListedMachine } from '../support/claims.ts'

const machine = aListedMachine({ firstPort: 20_000, lastPort: 20_002 })
const given = (wishes: number[], taken: number[] = []) =>
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
    expect(given(wishes, taken)).toEqual(ports)
  })

  it('lead to the port in the container, by its protocol', () => {
    expect(choosePorts(machine, new Set(), [{ hostPort: 53, containerPort: 5_353, protocol: 'udp' }])).toEqual([
      { hostPort: 20_000, containerPort: 5_353, protocol: 'udp' },
    ])
  })

  it('are never more than there are', () => {
    expect(() => given([1, 2, 3, 4])).toThrow('More ports are counted as free than there are')
  })
})
