// Cuts the network between a gateway and the agent of a real host, which is in a network of its own, and mends it again.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { findDisagreements } from '../../support/crashes/containers.ts'
import { expectConsistentEvents, findUnsettledInstances } from '../../support/crashes/invariants.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { docker } from '../../support/engine/docker.ts'
import { startEngine, type TestEngine } from '../../support/engine/engine.ts'
import { engineObstacle } from '../../support/engine/obstacle.ts'
import { type RealMarket, startRealMarket } from '../../support/engine/real-market.ts'
import { expectConverged, expectEverythingFree } from '../../support/instances/rental-invariants.ts'
import {
  createNetworkNamespace,
  type NetworkNamespace,
  namespaceObstacle,
} from '../../support/processes/network-namespace.ts'

/** NETWORK_CUT_SECONDS sets how long the long cut is. Instances are offline after half of it. */
const longCutSeconds = Number(process.env['NETWORK_CUT_SECONDS'] ?? 600)
const graceMinutes = Math.max(1, longCutSeconds / 120)
/** The agent tries again each 10 s, also in the middle of an attempt, and lists are compared each 30 s. */
const backWithin = { timeout: 90_000, interval: 500 }

let namespace: NetworkNamespace
let engine: TestEngine & { stop(): Promise<void> }
let testDatabase: TestDatabase
let pool: pg.Pool
let market: RealMarket
let key: string

const obstacle = engineObstacle() ?? namespaceObstacle()
if (obstacle) process.stdout.write(`The network of a host is not cut: ${obstacle}.\n`)

const sql = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows
const ask = (query: string, variables: Record<string, unknown> = {}) => market.ask(key, query, variables)

async function rent(): Promise<string> {
  const { offers } = await ask('{ offers(first: 1, filter: {numGpus: {eq: 1}}) { nodes { id } } }')
  const spec = { source: { image: engine.images.tiny } }
  const { rentInstance } = await ask(
    `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
      ... on RentInstanceSuccess { instance { id } } ... on Error { code message } } }`,
    { input: { offerId: offers.nodes[0].id, spec } },
  )
  if (!rentInstance.instance) throw new Error(JSON.stringify(rentInstance))
  return rentInstance.instance.id.replace('ins_', '')
}

async function change(verb: 'start' | 'stop' | 'destroy', id: string): Promise<void> {
  const query = `mutation ($id: ID!) { change: ${verb}Instance(input: {id: $id}) { ... on Error { code message } } }`
  expect(await ask(query, { id })).toEqual({ change: {} })
}

/** The output of a command, or why it has none. */
async function execute(id: string, command: string): Promise<string> {
  const query = `mutation ($id: ID!, $command: String!) { executeCommand(input: {id: $id, command: $command}) {
    ... on ExecuteCommandSuccess { output } ... on Error { message } } }`
  const { executeCommand } = await ask(query, { id, command }).catch(({ message }: Error) => ({
    executeCommand: { message },
  }))
  return executeCommand.output ?? executeCommand.message
}

const read = async (id: string) =>
  (
    await sql('SELECT status::text, reason_code, unreachable_at IS NOT NULL AS silent FROM instances WHERE id = $1', [
      id,
    ])
  )[0]
const becomes = (id: string, status: string, timeout = 60_000) =>
  expect.poll(async () => (await read(id)).status, { timeout, interval: 250 }).toBe(status)

/** Four instances in different states. */
async function rentFour() {
  const ids = [await rent(), await rent(), await rent(), await rent()]
  for (const id of ids) await becomes(id, 'running')
  const [kept, stopped, destroyed, started] = ids as [string, string, string, string]
  await change('stop', started)
  await becomes(started, 'stopped')
  return { kept, stopped, destroyed, started }
}

/** Changes all of them while the machine is silent, and rents a fifth. */
async function changeInSilence({ kept, stopped, destroyed, started }: Awaited<ReturnType<typeof rentFour>>) {
  const executed = execute(kept, 'echo ran >> /root/ran; echo done')
  await Promise.all([change('stop', stopped), change('destroy', destroyed), change('start', started)])
  return { rented: await rent(), executed }
}

/** Which process the container has had since when. */
const runOf = async (id: string) =>
  await docker(engine.folder, [
    'inspect',
    '--format',
    '{{.Id}} {{.State.Pid}} {{.State.StartedAt}}',
    await containerOf(id),
  ])
const containerOf = async (id: string) =>
  await docker(engine.folder, ['ps', '-aq', '--filter', `label=berth.instance=${id}`])

async function expectAllAgree(): Promise<void> {
  await expect.poll(() => findUnsettledInstances(sql), backWithin).toEqual([])
  await expect.poll(() => findDisagreements(engine.folder, sql), backWithin).toEqual([])
  // GPUs come free with the pass after a stop.
  await vi.waitFor(() => expectConverged({ sql }, 1), backWithin)
  await expectConsistentEvents(sql)
  expect(await brokenLaws(sql)).toEqual([])
}

/** Nothing is left of the instances once all are destroyed. */
async function expectNothingLeft(ids: string[]): Promise<void> {
  for (const id of ids) await change('destroy', id)
  await expectAllAgree()
  await expectEverythingFree({ sql }, 1)
  expect(await docker(engine.folder, ['ps', '-aq'])).toBe('')
}

/** For how many seconds the instance's GPU was charged, without what was refunded. */
async function chargedSeconds(id: string): Promise<number> {
  const [row] = await sql(
    `SELECT 3600 * -sum(e.amount_nanos) / max(e.rate_nanos) AS seconds FROM ledger_entries e JOIN meters m ON m.id = e.meter_id
    WHERE m.kind = 'gpu' AND m.instance_id = $1`,
    [id],
  )
  return Number(row.seconds)
}

/** Since the instance came up: until it was last observed, and until now. */
async function ranSeconds(id: string): Promise<{ seen: number; now: number }> {
  const [row] = await sql(
    `SELECT extract(epoch FROM l.seen_at - e.created_at)::float AS seen, extract(epoch FROM now() - e.created_at)::float AS now
    FROM instance_looks l JOIN events e USING (instance_id) WHERE instance_id = $1 AND e.after->>'status' = 'running'`,
    [id],
  )
  return row
}

describe.skipIf(obstacle)('the network between a gateway and a host', () => {
  beforeAll(async () => {
    namespace = createNetworkNamespace()
    engine = await startEngine()
  })
  afterAll(async () => {
    await engine?.stop()
    namespace?.remove()
  })

  beforeEach(async () => {
    testDatabase = await createDatabase()
    pool = new pg.Pool({ connectionString: testDatabase.url, max: 4, application_name: 'test' })
    market = await startRealMarket(engine, {
      agent: namespace,
      facts: { numGpus: 8 },
      env: {
        ...{ DATABASE_URL: testDatabase.url, BERTH_SECRET: 'a secret of these tests', HOST: '0.0.0.0' },
        OFFLINE_GRACE_MINUTES: String(graceMinutes),
      },
    })
    key = await market.newKey('renter@example.com')
  })

  afterEach(async () => {
    await market?.stop()
    await pool?.end()
    await testDatabase?.drop()
  })

  it('is cut for 10 seconds: what was asked meanwhile is done, and nothing else has changed', async () => {
    const four = await rentFour()
    const before = await runOf(four.kept)
    const cutMs = performance.now()
    namespace.cut()
    const { rented, executed } = await changeInSilence(four)
    await sleep(cutMs + 10_000 - performance.now())
    namespace.mend()
    const output = await executed
    await becomes(rented, 'running', backWithin.timeout)
    await expectAllAgree()
    expect(await runOf(four.kept)).toBe(before)
    expect(await read(four.kept)).toEqual({ status: 'running', reason_code: 'STARTED', silent: false })
    expect(await read(four.started)).toMatchObject({ status: 'running' })
    expect(await read(four.stopped)).toMatchObject({ status: 'stopped' })
    // The command may have been lost with its answer, or without.
    const runs = (await execute(four.kept, 'cat /root/ran')).match(/^ran$/gm)?.length ?? 0
    expect(runs).toBeLessThanOrEqual(1)
    if (output === 'done\n') expect(runs).toBe(1)
    process.stdout.write(`The command during the cut of 10 seconds ran ${runs} times, and answered: ${output.trim()}\n`)
    await expectNothingLeft([four.kept, four.started, four.stopped, rented])
  })

  it(
    `is cut for ${longCutSeconds} seconds: charges end at the cut, and nothing runs on afterwards`,
    async () => {
      const four = await rentFour()
      // A running container is observed once a minute at least.
      await expect.poll(async () => (await ranSeconds(four.kept)).seen, { timeout: 90_000 }).toBeGreaterThan(5)
      const atCut = await ranSeconds(four.kept)
      const cutMs = performance.now()
      namespace.cut()
      const { rented, executed } = await changeInSilence(four)
      const ids = [four.kept, four.stopped, four.started, rented]
      expect(await executed).toContain('machine')
      await expect.poll(async () => (await read(four.kept)).silent, { timeout: 90_000 }).toBe(true)
      expect(await read(four.kept)).toMatchObject({ status: 'running', reason_code: 'HOST_UNREACHABLE' })
      for (const id of ids) await becomes(id, 'offline', graceMinutes * 60_000 + 90_000)
      const offlineSeconds = Math.round((performance.now() - cutMs) / 1_000)
      const charged = await chargedSeconds(four.kept)
      expect(charged).toBeGreaterThan(atCut.seen - 1)
      expect(charged).toBeLessThan(atCut.now + 1)
      await sleep(Math.max(0, cutMs + longCutSeconds * 1_000 - performance.now()))
      namespace.mend()
      await expectAllAgree()
      expect(await docker(engine.folder, ['ps', '-q'])).toBe('')
      for (const id of ids) expect(await read(id)).toMatchObject({ status: 'offline' })
      expect(await chargedSeconds(four.kept)).toBe(charged)
      const facts = { offlineSeconds, atCut, chargedSeconds: charged }
      process.stdout.write(`The cut of ${longCutSeconds} seconds: ${JSON.stringify(facts)}\n`)
      const anew = await rent()
      await becomes(anew, 'running')
      await expectNothingLeft([...ids, anew])
    },
    900_000 + longCutSeconds * 1_000,
  )
})
