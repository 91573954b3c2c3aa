// Gateways behind a balancer, and hosts with agents whose containers are simulated. Each has machine 1, 2, and so on.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect } from 'vitest'
import { openDatabase } from '../../../src/database/client.ts'
import { createOperations } from '../../../src/services/operations.ts'
import { withoutQuotasSql } from '../accounts/unbounded.ts'
import { expireLeasesSql } from '../crashes/leases.ts'
import { createDatabase } from '../database/database.ts'
import { urlAs } from '../database/roles.ts'
import { listMachines } from '../factories.ts'
import { type GatewayProcess, startGateway, stopProgram } from '../processes/programs.ts'
import { type HostProcess, startHosts } from './host-processes.ts'
import { newHostKey } from './hosts.ts'
import { startTcpBalancer } from './tcp-balancer.ts'

export type AgentFleet = Awaited<ReturnType<typeof openAgentFleet>>

/** Starts two gateways. The hosts have joined, and their agents do not run. */
export async function openAgentFleet(hosts: number) {
  const testDatabase = await createDatabase()
  const pool = new pg.Pool({ connectionString: testDatabase.url, max: 3, application_name: 'test' })
  const database = openDatabase({ url: urlAs('app', testDatabase.url), poolSize: 2, onIdleError: () => {} })
  const operations = createOperations({ database })
  const sql = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows
  await listMachines(
    operations,
    Array.from({ length: hosts }, (_, index) => ({ machine: { publicIp: `203.0.113.${index + 1}` } })),
  )
  const renter = await operations.accounts.create({ email: 'ada@example.com', creditNanos: 1_000_000_000_000n })
  await sql(withoutQuotasSql(renter.account.id))
  const balancer = await startTcpBalancer()
  const running: HostProcess[] = []
  let gateways: GatewayProcess[] = []

  const newGateway = () =>
    startGateway({
      ...{ DATABASE_URL: testDatabase.url, BERTH_SECRET: 'a secret of these tests', DEMO_MARKET: 'false' },
      ...{ GRAPHIQL: 'false', SIMULATED_DELAY: '0.03', LOG_LEVEL: 'info', DATABASE_POOL_SIZE: '5' },
    })
  const useGateways = (used: GatewayProcess[]) => {
    gateways = used
    balancer.use(used.map(({ url }) => url))
  }
  useGateways(await Promise.all([newGateway(), newGateway()]))
  const keys: string[] = []
  for (let machineId = 1; machineId <= hosts; machineId += 1)
    keys.push(await newHostKey(operations, balancer.url, machineId))

  async function request(
    method: string,
    path: string,
    body?: object,
    idempotencyKey?: string,
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    for (;;) {
      const headers = {
        ...{ authorization: `Bearer ${renter.apiKey}`, 'content-type': 'application/json' },
        ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      }
      const init = { method, headers }
      const url = `${gateways[Math.floor(Math.random() * gateways.length)]?.url}/api/v0${path}`
      const response = await fetch(url, body ? { ...init, body: JSON.stringify(body) } : init).catch(() => undefined)
      if (response) return { status: response.status, body: (await response.json()) as Record<string, unknown> }
      await sleep(100)
    }
  }

  return {
    sql,
    keys,
    balancer,
    gateways: () => gateways,
    newGateway,
    useGateways,
    request,
    /** Starts a process with the agents of these hosts, and waits until all are connected. */
    async startAgents(keysOfHosts: string[]): Promise<HostProcess> {
      const settings = { gateway: balancer.url, database: testDatabase.url, delay: 0.03 }
      const host = await startHosts({ ...settings, keys: keysOfHosts })
      running.push(host)
      return host
    },
    async rent(machineId: number): Promise<number> {
      const [offer] = await sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [machineId])
      const answer = await request('PUT', `/asks/${offer.id}/`, { image: 'ubuntu' }, `machine-${machineId}`)
      expect(answer.status).toBe(200)
      return Number(answer.body['new_contract'])
    },
    /** Kills a gateway, and starts another in its place. */
    async killGateway(): Promise<void> {
      const [killed, ...others] = gateways as [GatewayProcess, ...GatewayProcess[]]
      killed.child.kill('SIGKILL')
      await killed.exit
      await sql(expireLeasesSql)
      useGateways([...others, await newGateway()])
    },
    expireLeases: () => sql(expireLeasesSql),
    /** How many hosts each gateway has. */
    holds: () =>
      sql('SELECT gateway_id, count(*)::int AS count FROM agents WHERE held_until > now() GROUP BY 1 ORDER BY 2'),
    async close(): Promise<void> {
      for (const host of running) host.child.kill('SIGKILL')
      for (const gateway of gateways) await stopProgram(gateway)
      await balancer.close()
      await database.close()
      await pool.end()
      await testDatabase.drop()
    },
  }
}

/** Kills a gateway for good, and waits until the other one has all hosts. The agents come one by one. */
export async function loseGateway({ gateways, useGateways, holds, balancer, sql, keys }: AgentFleet) {
  const generations = async () => (await sql('SELECT sum(generation)::int AS sum FROM agents'))[0].sum
  const before = await generations()
  const [killed, ...others] = gateways() as [GatewayProcess, ...GatewayProcess[]]
  const [killedMs, arrived] = [performance.now(), balancer.arrivals.length]
  killed.child.kill('SIGKILL')
  useGateways(others)
  await expect
    .poll(async () => (await holds()).map(({ count }) => count), { timeout: 10_000, interval: 50 })
    .toEqual([keys.length])
  const tookMs = Math.round(performance.now() - killedMs)
  const arrivals = balancer.arrivals.slice(arrived).map(at => at - killedMs)
  const moved = (await generations()) - before
  const tenths = Map.groupBy(arrivals, at => Math.floor(at / 100))
  const mostAtOnce = Math.max(...[...tenths.values()].map(({ length }) => length))
  process.stdout.write(
    `${moved} hosts were back after ${tookMs} ms, with ${arrivals.length} connections, at most ${mostAtOnce} in 100 ms.\n`,
  )
  expect(moved).toBeLessThanOrEqual(keys.length)
  expect(arrivals.length).toBeLessThanOrEqual(2 * moved)
  expect(mostAtOnce).toBeLessThan(moved * 0.7)
}
