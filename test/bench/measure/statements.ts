import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Stacks } from '../peers/stacks.ts'
import type { Contestant, Way, Workload } from '../workloads/workload.ts'
import { runLoad } from './load.ts'
import { contestantsOf } from './rounds.ts'
import { checkAnswerOf, requestsOf } from './runs.ts'

/** Statements that a contestant sends for a request. */
export type Statements = Partial<Record<Contestant, number>>

/** So many requests are counted, unless they take longer. Concurrent ones share the polls that they wake. */
const counted = { requests: 200, connections: 16, seconds: 4 }
const idleMs = 2_000

/** The statements of the idle gateway in a second: it polls for due work. */
export async function countIdleStatements(client: pg.Client): Promise<number> {
  return (await countStatements(client, () => sleep(idleMs))) / (idleMs / 1_000)
}

/**
 * Counts the statements of each contestant for a request. The polls of the idle gateway are subtracted. What a write makes
 * due for the reconciler meanwhile counts.
 */
export async function countForEach(
  workload: Workload,
  { stacks, client, idle, settle }: { stacks: Stacks; client: pg.Client; idle: number; settle: () => Promise<void> },
): Promise<Statements> {
  const statements: Statements = {}
  for (const name of contestantsOf(workload)) {
    const way = workload.ways[name] as Way<unknown>
    const requests = requestsOf(way, workload.inputs(0), counted.requests)
    let run = { sent: 0, seconds: 0 }
    const all = await countStatements(client, async () => {
      const load = { connections: counted.connections, seconds: counted.seconds }
      const { latencies, seconds } = await runLoad(stacks[name].url, requests, load, checkAnswerOf(way))
      run = { sent: latencies.length, seconds }
    })
    statements[name] = Math.max(0, all - idle * run.seconds) / run.sent
    await settle()
    await workload.restore?.()
  }
  return statements
}

/**
 * Counts the statements that clients send while the work runs, with those that begin and end transactions. Statements inside
 * a function are part of the one that calls it.
 */
async function countStatements(client: pg.Client, work: () => Promise<unknown>): Promise<number> {
  await client.query('SELECT pg_stat_statements_reset()')
  await work()
  const { rows } = await client.query(
    `SELECT coalesce(sum(calls), 0)::int AS calls FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'`,
  )
  return rows[0].calls
}
