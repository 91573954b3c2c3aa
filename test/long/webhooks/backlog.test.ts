// One receiver is down or slow while a large backlog of deliveries waits for it, and comes back. Webhooks of others are not delayed.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openDatabase } from '../../../src/database/client.ts'
import { createOperations } from '../../../src/services/operations.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { deliveryServices } from '../../../src/services/webhooks/delivery.ts'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { countRowsRead, explainStatements } from '../../support/database/plans.ts'
import { post, type Renter } from '../../support/instances/renters.ts'
import { type GatewayProcess, startGateway, stopProgram } from '../../support/processes/programs.ts'
import { openReceiver, type Receiver } from '../../support/webhooks/receiver.ts'

/** How many deliveries wait, and how many of them are sent before the test ends. */
const waiting = Number(process.env['BACKLOG'] ?? 60_000)
const drained = Math.min(waiting, Number(process.env['BACKLOG_DRAINED'] ?? 3_000))
const secret = 'a secret of these tests'
/** Of another webhook, on a machine that has other things to do. */
const maxDelayMs = 5_000

let testDatabase: TestDatabase
let pool: pg.Pool
let gateways: GatewayProcess[]
let receiver: Receiver
let behind: Renter
let neighbor: Renter
let keys = 0
/** How often each event arrived at the receiver that is behind, and when at the others. */
const arrived = new Map<string, number>()
const arrivals = new Map<string, number>()
let answerBehind: 'down' | 'slow' | 'well' = 'well'

const sql = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows
const createWebhook = `mutation ($input: CreateWebhookInput!) { answer: createWebhook(input: $input) {
  ... on CreateWebhookSuccess { webhook { id } } } }`
const createKey = `mutation ($input: CreateSshKeyInput!) { answer: createSshKey(input: $input) {
  ... on CreateSshKeySuccess { sshKey { id } } } }`
const deleteKey = `mutation ($input: DeleteSshKeyInput!) { answer: deleteSshKey(input: $input) { __typename } }`

beforeAll(async () => {
  testDatabase = await createDatabase()
  pool = new pg.Pool({ connectionString: testDatabase.url, max: 3 })
  receiver = await openReceiver()
  receiver.answer(async (response, { path, event }) => {
    receiver.received.length = 0
    if (path !== '/behind') {
      arrivals.set(`${path} ${event.after.name}`, performance.now())
      return void response.writeHead(204).end()
    }
    if (answerBehind === 'slow') await sleep(20)
    if (answerBehind !== 'down') arrived.set(event.id, (arrived.get(event.id) ?? 0) + 1)
    response.writeHead(answerBehind === 'down' ? 503 : 204).end()
  })
  const env = { DATABASE_URL: testDatabase.url, BERTH_SECRET: secret, WEBHOOK_PRIVATE_ADDRESSES: 'true' }
  const quiet = { DEMO_MARKET: 'false', GRAPHIQL: 'false', LOG_LEVEL: 'warn', METRICS: 'true' }
  gateways = await Promise.all([0, 1].map(() => startGateway({ ...env, ...quiet })))
  behind = await newAccount('behind@example.com', ['/behind', '/same-account'])
  neighbor = await newAccount('neighbor@example.com', ['/neighbor'])
})

afterAll(async () => {
  await Promise.all(gateways?.map(stopProgram) ?? [])
  await receiver?.close()
  await pool?.end()
  await testDatabase?.drop()
})

/** A connection of the test itself, which waits for a busy computer. */
const openOwn = () =>
  openDatabase({ url: testDatabase.url, poolSize: 1, connectionTimeoutMs: 60_000, onIdleError: () => {} })

async function newAccount(email: string, paths: string[]): Promise<Renter> {
  const database = openOwn()
  const { account, apiKey } = await createOperations({ database }).accounts.create({
    email,
    creditNanos: 1_000_000_000n,
  })
  await database.close()
  for (const path of paths) {
    const input = { url: receiver.url + path, kinds: [path === '/behind' ? 'CREDIT_GRANTED' : 'SSH_KEY_CREATED'] }
    const { data } = await post(gateways[0]?.url as string, apiKey, createWebhook, input)
    expect(data.answer.webhook.id).toBeDefined()
  }
  return { accountId: account.id, apiKey }
}

/** Many events at once, as if a receiver had been down for days. */
async function addBacklog(): Promise<void> {
  const columns = 'kind, account_id, actor_kind, subject_type, subject_id, after, created_at'
  await sql(
    `WITH copied AS (
      INSERT INTO events (${columns}) SELECT ${columns} FROM (
        SELECT * FROM events WHERE account_id = $1 AND kind = 'CREDIT_GRANTED' ORDER BY id LIMIT 1
      ) e, generate_series(1, $2) RETURNING id
    ) INSERT INTO webhook_deliveries (webhook_id, event_id, due_at)
      SELECT w.id, copied.id, now() FROM copied, (SELECT id FROM webhooks ORDER BY id LIMIT 1) w`,
    [behind.accountId, waiting],
  )
}

/** Events of the webhooks that are not behind. Returns the longest time from an answer to an arrival. */
async function measureDelay(count = 10): Promise<number> {
  let longest = 0
  for (let done = 0; done < count; done += 1) {
    keys += 1
    for (const [path, renter] of [
      ['/same-account', behind],
      ['/neighbor', neighbor],
    ] as const) {
      const name = `key ${keys}`
      const input = { name, publicKey: aPublicKey(`${path} ${name}`) }
      const url = gateways[done % 2]?.url as string
      const { data } = await post(url, renter.apiKey, createKey, input)
      const start = performance.now()
      await expect.poll(() => arrivals.has(`${path} ${name}`), { timeout: 60_000, interval: 5 }).toBe(true)
      longest = Math.max(longest, (arrivals.get(`${path} ${name}`) as number) - start)
      await post(url, renter.apiKey, deleteKey, { id: data.answer.sshKey.id })
    }
  }
  return longest
}

async function residentMegabytes(): Promise<number[]> {
  const texts = await Promise.all(gateways.map(async ({ url }) => await (await fetch(`${url}/metrics`)).text()))
  return texts.map(text => Math.round(Number(/^process_resident_memory_bytes (.+)$/m.exec(text)?.[1]) / 1e6))
}

/** Rows that are read to lease one delivery. */
async function rowsOfLease(): Promise<number> {
  const database = openOwn()
  const deliveries = deliveryServices({ database, secrets: createSecrets(secret) })
  const explained = await explainStatements(async () => {
    for (const lease of await deliveries.leaseDue(1)) await deliveries.release(lease)
  })
  await database.close()
  return explained.reduce((most, { plan }) => Math.max(most, countRowsRead(plan)), 0)
}

const pending = async () =>
  (await sql('SELECT count(*)::int AS count FROM webhook_deliveries WHERE due_at IS NOT NULL'))[0].count as number

it(`sends ${waiting} deliveries that have waited, and delays no other webhook`, async () => {
  const report: Record<string, unknown> = { before: await measureDelay() }
  report['memory'] = await residentMegabytes()

  answerBehind = 'down'
  await addBacklog()
  await sql('ANALYZE webhook_deliveries, events')
  report['down'] = await measureDelay()
  report['rowsWhileDown'] = await rowsOfLease()
  expect(await pending()).toBeGreaterThanOrEqual(waiting)

  answerBehind = 'slow'
  report['slow'] = await measureDelay()
  report['rowsWhileSlow'] = await rowsOfLease()

  answerBehind = 'well'
  // All retries at once, as if the receiver had been down for as long as the retries wait.
  await sql('UPDATE webhook_deliveries SET due_at = clock_timestamp() WHERE due_at IS NOT NULL')
  const [start, before] = [performance.now(), await pending()]
  const delays: number[] = []
  while ((await pending()) > Math.max(0, before - drained)) delays.push(await measureDelay(2))
  report['drained'] = before - (await pending())
  report['perSecond'] = Math.round((before - (await pending())) / ((performance.now() - start) / 1_000))
  report['draining'] = Math.max(...delays)
  report['rowsAfter'] = await rowsOfLease()
  report['memoryAfter'] = await residentMegabytes()
  process.stdout.write(`${JSON.stringify(report)}\n`)

  for (const phase of ['down', 'slow', 'draining']) expect(report[phase], phase).toBeLessThan(maxDelayMs)
  for (const phase of ['rowsWhileDown', 'rowsWhileSlow', 'rowsAfter']) expect(report[phase], phase).toBeLessThan(800)
  for (const [index, megabytes] of (report['memoryAfter'] as number[]).entries())
    expect(megabytes - ((report['memory'] as number[])[index] as number), 'MB more').toBeLessThan(100)
  const rows = await sql(
    `SELECT d.event_id FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
    WHERE w.id = (SELECT min(id) FROM webhooks) AND d.delivered_at IS NOT NULL`,
  )
  const timesOf = ({ event_id }: { event_id: string }) => arrived.get(`evt_${event_id}`) ?? 0
  expect(rows.filter(row => timesOf(row) === 0)).toEqual([])
  // One whose success could not be recorded within two seconds, because the statement above had locked it, arrives again.
  expect(rows.filter(row => timesOf(row) > 1).length).toBeLessThan(10)
  expect(rows.length).toBeGreaterThanOrEqual(drained - 10)
})
