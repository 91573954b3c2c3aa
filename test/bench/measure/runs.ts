// One run of a workload by one contestant, with what it cost.

import type pg from 'pg'
import type { Program } from '../setup/programs.ts'
import type { Way } from '../workloads/workload.ts'
import type { HttpRequest } from './connection.ts'
import { type CheckAnswer, type Failures, type Load, runLoad } from './load.ts'
import { readCpuMs, readMemoryMb, readParent, readTreeCpuMs } from './processes.ts'
import { percentile } from './statistics.ts'

/** Times are in ms. What the system does not tell is NaN. */
export type Figures = {
  /** Requests that did not fail. */
  requests: number
  requestsPerSecond: number
  p50: number
  p99: number
  /** CPU time for a request. */
  nodeMs: number
  postgresMs: number
  memoryMb: number
  failures: Failures
}

export async function measureRun<Input>(
  way: Way<Input>,
  inputs: Iterator<Input>,
  { program, postgresPid, load }: { program: Program; postgresPid: number; load: Load },
): Promise<Figures> {
  const readCpu = () => Promise.all([readCpuMs(program.pid), readTreeCpuMs(postgresPid)])
  const before = await readCpu()
  const { latencies, seconds, failures } = await runLoad(program.url, requestsOf(way, inputs), load, checkAnswerOf(way))
  const after = await readCpu()
  const perRequest = (index: 0 | 1) => ((after[index] ?? Number.NaN) - (before[index] ?? Number.NaN)) / latencies.length
  return {
    requests: latencies.length,
    requestsPerSecond: latencies.length / seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    nodeMs: perRequest(0),
    postgresMs: perRequest(1),
    memoryMb: (await readMemoryMb(program.pid)) ?? Number.NaN,
    failures,
  }
}

/** At most `limit` requests. */
export function* requestsOf<Input>(
  { request }: Way<Input>,
  inputs: Iterator<Input>,
  limit = Number.POSITIVE_INFINITY,
): Generator<HttpRequest> {
  for (let [next, count] = [inputs.next(), 0]; !next.done && count < limit; next = inputs.next(), count += 1)
    yield request(next.value)
}

/** GraphQL answers errors with status 200, too. */
export function checkAnswerOf({ expects }: Pick<Way<never>, 'expects'>): CheckAnswer {
  return body => {
    if (!body.includes(expects) || body.includes('"errors":[')) throw new Error(`A wrong answer: ${body.slice(0, 500)}`)
  }
}

/** The server process that has started the process of this connection. */
export async function findPostgresPid(client: pg.Client): Promise<number> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  return (await readParent(rows[0].pid)) ?? 0
}
