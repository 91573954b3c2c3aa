import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { openConnection } from '../../bench/measure/connection.ts'
import { runLoad } from '../../bench/measure/load.ts'
import type { Figures } from '../../bench/measure/runs.ts'
import { median, pairedRatios, percentile } from '../../bench/measure/statistics.ts'
import { parseOptions } from '../../bench/options.ts'
import { failureProblems, statementProblems } from '../../bench/report/gates.ts'
import { printMeasured } from '../../bench/report/report.ts'
import { graphqlRequest } from '../../bench/workloads/requests.ts'
import { defineWorkload, endless } from '../../bench/workloads/workload.ts'

const request = graphqlRequest('{ a }', {})
const servers: ReturnType<typeof createServer>[] = []

afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function serve(listener: RequestListener): Promise<URL> {
  const server = createServer(listener)
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

describe('statistics of the bench', () => {
  it('take medians and percentiles', () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, 1, 2, 3])).toBe(2.5)
    expect(percentile([1, 2, 3, 4], 0.5)).toBe(3)
    expect(percentile([1, 2, 3, 4], 0.99)).toBe(4)
    expect(percentile([], 0.5)).toBeNaN()
  })

  it('compare round by round, so that a slow round of both stacks does not count', () => {
    expect(pairedRatios([100, 10, 90], [50, 5, 30])).toEqual({ median: 2, low: 2, high: 3 })
    expect(pairedRatios([1, 2], [Number.NaN, 1])).toEqual({ median: 2, low: 2, high: 2 })
    expect(pairedRatios([1], [])).toBeUndefined()
  })
})

describe('the load of the bench', () => {
  it('reads answers with a length and in chunks, and connects again when the server closes', async () => {
    let answers = 0
    const url = await serve((_request, response) => {
      answers += 1
      if (answers === 2) response.setHeader('connection', 'close')
      if (answers % 2 === 0) return response.end('{"data":"ü"}')
      response.write('{"data":')
      return setImmediate(() => response.end('"ü"}'))
    })
    const connection = await openConnection(url)
    expect(await connection.send(request)).toContain('{"data":')
    expect(Buffer.from(await connection.send(request), 'latin1').toString()).toBe('{"data":"ü"}')
    expect(await connection.send(request)).toContain('{"data":')
    connection.close()
  })

  it('counts answers with another status and wrong answers as failures', async () => {
    let answers = 0
    const url = await serve((_request, response) => {
      answers += 1
      response.writeHead(answers === 1 ? 500 : 200).end(`answer ${answers}`)
    })
    const check = (body: string) => {
      if (body.includes('answer 2')) throw new Error('wrong')
    }
    const requests = [request, request, request].values()
    const { latencies, failures } = await runLoad(url, requests, { connections: 1, seconds: 9 }, check)
    expect(latencies).toHaveLength(1)
    expect(failures).toEqual({ count: 2, first: expect.stringContaining('HTTP/1.1 500') })
  })
})

describe('the report of the bench', () => {
  const figures = (requestsPerSecond: number, failures = { count: 0, first: '' }): Figures => {
    return {
      requests: 10,
      failures,
      requestsPerSecond,
      p50: 1_000 / requestsPerSecond,
      p99: 20,
      nodeMs: 0.5,
      postgresMs: 1.25,
      memoryMb: Number.NaN,
    }
  }

  it('shows medians, statements and the spread of ratios', () => {
    const measured = { Berth: [figures(100), figures(120)], floor: [figures(200), figures(200)] }
    expect(printMeasured(measured, { Berth: 2, floor: 1 })).toBe(`\
         req/s  p50 ms  p99 ms  Node ms  PostgreSQL ms  memory MB  statements
  Berth    110    9.17      20      0.5           1.25          –           2
  floor    200       5      20      0.5           1.25          –           1

  Berth                   req/s               p50 ms               p99 ms                  CPU  memory
  to floor  0.55 (0.50 to 0.60)  1.83 (1.67 to 2.00)  1.00 (1.00 to 1.00)  1.00 (1.00 to 1.00)       –
`)
  })

  it('names failures, and complains when most requests fail', () => {
    const measured = { Berth: [figures(100, { count: 1, first: 'busy' }), figures(100)], floor: [figures(100)] }
    expect(printMeasured(measured, {})).toContain('Berth failed 1 requests, the first with: busy')
    const workload = defineWorkload({ id: 'W1', title: 'search', inputs: () => endless(index => index), ways: {} })
    expect(failureProblems(workload, measured)).toEqual([])
    expect(failureProblems(workload, { Berth: [figures(1, { count: 11, first: 'broken' })] })).toEqual([
      'W1, search: Berth fails with broken',
    ])
  })

  it('complains about a statement too many, and not about a poll', () => {
    const inputs = () => endless(index => index)
    const workload = defineWorkload({ id: 'W1', title: 'search', inputs, ways: {}, maxStatements: 2 })
    expect(statementProblems(workload, { Berth: 2.1 })).toEqual([])
    expect(statementProblems(workload, { Berth: 3 })).toEqual([
      'W1, search: Berth sends 3.0 statements for a request, more than 2.',
    ])
  })
})

describe('the options of the bench', () => {
  it('choose workloads, and sizes that --quick makes small', () => {
    expect(parseOptions([])).toMatchObject({ scale: 1, only: undefined, connections: [1, 16] })
    const chosen = parseOptions(['--quick', '--only', 'W1,W2', '--connections', '4', '--rounds', '3'])
    expect(chosen).toMatchObject({ scale: 0.1, only: ['W1', 'W2'], connections: [4], rounds: 3 })
    expect(() => parseOptions(['--rounds', 'many'])).toThrow('--rounds must be a number above 0, not "many".')
  })
})
