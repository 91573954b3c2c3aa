// Gateways and agents that are killed: no container is lost, doubled or left over, and all hosts are back soon.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openDatabase } from '../../../src/database/client.ts'
import { createOperations, type Operations } from '../../../src/services/operations.ts'
import { expectMachinesMatchDesired } from '../../support/crashes/invariants.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type HostProcess, startHosts } from '../../support/machines/host-processes.ts'
import { newHostKey } from '../../support/machines/hosts.ts'
import { startTcpBalancer, type TcpBalancer } from '../../support/machines/tcp-balancer.ts'
import { type GatewayProcess, startGateway, stopProgram } from '../../support/processes/programs.ts'

const rentals = 10
const hosts = 50
/** A gateway that is killed keeps the leases of its passes for 30 seconds. */
const expireLeasesSql =
  "UPDATE instance_looks SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL"

let testDatabase: TestDatabase
let database: ReturnType<typeof openDatabase>
let pool: pg.Pool
let balancer: TcpBalancer
let operations: Operations
let gateways: GatewayProcess[]
let keys: string[]
let renter: string
const running: HostProcess[] = []

const sql = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows

async function newGateway(): Promise<GatewayProcess> {
  return await startGateway({
    ...{ DATABASE_URL: testDatabase.url, BERTH_SECRET: 'a secret of these tests', DEMO_MARKET: 'false' },
    ...{ GRAPHIQL: 'false', SIMULATED_DELAY: '0.03', LOG_LEVEL: 'info', DATABASE_POOL_SIZE: '5' },
  })
}
const useGateways = () => balancer.use(gateways.map(({ url }) => url))

beforeAll(async () => {
  testDatabase = await createDatabase()
  pool = new pg.Pool({ connectionString: testDatabase.url, max: 3, application_name: 'test' })
  database = openDatabase({ url: testDatabase.url, poolSize: 2, onIdleError: () => {} })
  operations = createOperations({ database })
  await listMachines(
    operations,
    Array.from({ length: hosts }, (_, index) => ({ machine: { publicIp: `203.0.113.${index + 1}` } })),
  )
  renter = (await operations.accounts.create({ email: 'ada@example.com', creditNanos: 1_000_000_000_000n })).apiKey
  balancer = await startTcpBalancer()
  gateways = await Promise.all([newGateway(), newGateway()])
  useGateways()
  keys = []
  for (let machineId = 1; machineId <= hosts; machineId += 1)
    keys.push(await newHostKey(operations, balancer.url, machineId))
}, 120_000)

afterAll(async () => {
  for (const host of running) host.child.kill('SIGKILL')
  for (const gateway of gateways ?? []) await stopProgram(gateway)
  await balancer?.close()
  await database?.close()
  await pool?.end()
  await testDatabase?.drop()
})

async function startSome(keysOfHosts: string[]): Promise<HostProcess> {
  const host = await startHosts({ gateway: balancer.url, keys: keysOfHosts, database: testDatabase.url, delay: 0.03 })
  running.push(host)
  return host
}

async function request(
  method: string,
  path: string,
  body?: object,
  idempotencyKey?: string,
): Promise<{ status: number; body: Record<string, unknown> }> {
  for (;;) {
    const headers = {
      ...{ authorization: `Bearer ${renter}`, 'content-type': 'application/json' },
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
    }
    const init = { method, headers }
    const url = `${gateways[Math.floor(Math.random() * gateways.length)]?.url}/api/v0${path}`
    const response = await fetch(url, body ? { ...init, body: JSON.stringify(body) } : init).catch(() => undefined)
    if (response) return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    await sleep(100)
  }
}

async function rent(machineId: number): Promise<number> {
  const [offer] = await sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [machineId])
  const answer = await request('PUT', `/asks/${offer.id}/`, { image: 'ubuntu' }, `machine-${machineId}`)
  expect(answer.status).toBe(200)
  return Number(answer.body['new_contract'])
}

async function killGateway(): Promise<void> {
  const [killed, ...others] = gateways as [GatewayProcess, ...GatewayProcess[]]
  killed.child.kill('SIGKILL')
  await killed.exit
  await sql(expireLeasesSql)
  gateways = [...others, await newGateway()]
  useGateways()
}

it(`loses nothing when agents and gateways are killed during ${rentals} rentals`, async () => {
  const [first, second] = [keys.slice(0, 5), keys.slice(5, rentals)]
  let one = await startSome(first)
  let other = await startSome(second)
  const ids: number[] = []
  const renting = (async () => {
    for (let machineId = 1; machineId <= rentals; machineId += 1) {
      ids.push(await rent(machineId))
      await sleep(150)
    }
  })()
  await sleep(300)
  one.child.kill('SIGKILL')
  await sleep(300)
  one = await startSome(first)
  await killGateway()
  other.child.kill('SIGKILL')
  other = await startSome(second)
  await renting
  await killGateway()
  const statuses = () => sql('SELECT DISTINCT status::text, unreachable_at FROM instances')
  await expect.poll(statuses, { timeout: 60_000, interval: 200 }).toEqual([{ status: 'running', unreachable_at: null }])
  await expectMachinesMatchDesired(sql)
  one.child.kill('SIGKILL')
  for (const id of ids) await request('DELETE', `/instances/${id}/`)
  await killGateway()
  one = await startSome(first)
  const left = () => sql('SELECT id FROM instances WHERE removed_at IS NULL')
  await expect.poll(left, { timeout: 60_000, interval: 200 }).toEqual([])
  await expectMachinesMatchDesired(sql)
  expect(await sql('SELECT * FROM simulated_containers')).toEqual([])
  for (const host of [one, other]) host.child.kill('SIGTERM')
  expect(await Promise.all([one.exit, other.exit])).toEqual([0, 0])
}, 240_000)

it(`has all of ${hosts} hosts back within 10 seconds after a gateway was killed, and without a storm`, async () => {
  const host = await startSome(keys)
  const holds = async () =>
    await sql('SELECT gateway_id, count(*)::int AS count FROM agents WHERE held_until > now() GROUP BY 1 ORDER BY 2')
  await expect
    .poll(async () => (await holds()).reduce((sum, { count }) => sum + count, 0), { timeout: 15_000 })
    .toBe(hosts)
  expect((await holds()).length).toBe(2)
  const generations = () => sql('SELECT sum(generation)::int AS sum FROM agents')
  const [before] = await generations()
  const [killed, ...others] = gateways as [GatewayProcess, ...GatewayProcess[]]
  const killedMs = performance.now()
  const arrived = balancer.arrivals.length
  killed.child.kill('SIGKILL')
  gateways = others
  useGateways()
  await expect
    .poll(async () => (await holds()).map(({ count }) => count), { timeout: 10_000, interval: 50 })
    .toEqual([hosts])
  const tookMs = Math.round(performance.now() - killedMs)
  const arrivals = balancer.arrivals.slice(arrived).map(at => at - killedMs)
  const [after] = await generations()
  const moved = after.sum - before.sum
  process.stdout.write(`${moved} hosts were back after ${tookMs} ms, with ${arrivals.length} connections.\n`)
  expect(moved).toBeLessThanOrEqual(hosts)
  expect(arrivals.length).toBeLessThanOrEqual(2 * moved)
  const tenths = Map.groupBy(arrivals, at => Math.floor(at / 100))
  expect(Math.max(...[...tenths.values()].map(({ length }) => length))).toBeLessThan(moved * 0.7)
  host.child.kill('SIGTERM')
  expect(await host.exit).toBe(0)
}, 120_000)

it('moves the hosts of a gateway that hangs, which does nothing with them when it goes on', async () => {
  gateways.push(await newGateway())
  useGateways()
  const host = await startSome(keys)
  const holders = () =>
    sql('SELECT gateway_id, count(*)::int AS count FROM agents WHERE held_until > now() GROUP BY gateway_id')
  const counts = async () => (await holders()).map(({ count }) => count)
  await expect.poll(async () => (await counts()).length, { timeout: 15_000 }).toBe(2)
  const machineId = 20
  const id = await rent(machineId)
  const statuses = () => sql('SELECT status::text, unreachable_at FROM instances WHERE id = $1', [id])
  const isRunning = [{ status: 'running', unreachable_at: null }]
  await expect.poll(statuses, { timeout: 30_000 }).toEqual(isRunning)
  const [hung, ...others] = gateways as [GatewayProcess, ...GatewayProcess[]]
  const hungMs = performance.now()
  hung.child.kill('SIGSTOP')
  gateways = others
  useGateways()
  await expect.poll(counts, { timeout: 25_000, interval: 100 }).toEqual([hosts])
  process.stdout.write(`The hosts of a hung gateway moved within ${Math.round(performance.now() - hungMs)} ms.\n`)
  const before = await holders()
  hung.child.kill('SIGCONT')
  await sql(expireLeasesSql)
  await sleep(3_000)
  await expect.poll(statuses, { timeout: 30_000 }).toEqual(isRunning)
  // A host may have connected anew meanwhile, but never to the gateway that hung.
  await expect.poll(holders, { timeout: 10_000 }).toEqual(before)
  await expectMachinesMatchDesired(sql)
  gateways.push(hung)
  host.child.kill('SIGTERM')
  expect(await host.exit).toBe(0)
}, 120_000)
