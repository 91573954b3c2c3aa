import { describe, expect, it } from 'vitest'
import { findPortProblem, type PortAnswer, portCandidates } from '../../../src/domain/machines/port-check.ts'

describe('the ports that a host opens', () => {
  it('begin with the ends of the range, are inside it, and none comes twice', () => {
    const ports = portCandidates({ firstPort: 20_000, lastPort: 20_099 }, Math.random)
    expect(ports.slice(0, 2)).toEqual([20_000, 20_099])
    expect(new Set(ports).size).toBe(ports.length)
    expect(ports.length).toBeGreaterThan(5)
    for (const port of ports) expect(port >= 20_000 && port <= 20_099).toBe(true)
  })

  it('reach the last of the range, and not beyond, with the greatest random number', () => {
    expect(portCandidates({ firstPort: 10, lastPort: 12 }, () => 1 - Number.EPSILON)).toEqual([10, 12])
    expect(portCandidates({ firstPort: 10, lastPort: 12 }, () => 0.5)).toEqual([10, 12, 11])
    expect(portCandidates({ firstPort: 7, lastPort: 7 }, Math.random)).toEqual([7])
  })
})

describe('what is said of ports', () => {
  const address = { publicIp: '203.0.113.7', firstPort: 20_000, lastPort: 20_099 }
  const problemOf = (answers: [number, PortAnswer][]) => findPortProblem(address, new Map(answers))

  it('is nothing if the host answers at all', () => {
    expect(problemOf([[20_000, 'host']])).toBeNull()
  })

  it('names those that do not answer, those with another answer, and what to open', () => {
    expect(
      problemOf([
        [20_099, 'silent'],
        [20_000, 'host'],
        [20_050, 'other'],
        [20_001, 'silent'],
      ]),
    ).toEqual({
      path: 'publicIp',
      message:
        'is 203.0.113.7, but nothing answered the gateway at ports 20001, 20099, and another program or computer answered at port 20050. ' +
        'Open the TCP ports 20000 to 20099 in the firewall, and lead them from 203.0.113.7 to this host.',
    })
  })
})
