// Which deliveries are sent next when more are due than gateways send at once.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSecrets } from '../../../src/services/secrets.ts'
import { type DeliveryLease, deliveryServices } from '../../../src/services/webhooks/delivery.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { countRowsRead, explainStatements } from '../../support/database/plans.ts'
import { writeEvent } from '../../support/events/events.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let accountId: number
let deliveries: ReturnType<typeof deliveryServices>

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  accountId = (await gateway.newActor()).accountId
  await writeEvent(gateway.sql, { accountId })
  await gateway.sql(
    `INSERT INTO events SELECT (jsonb_populate_record(e, jsonb_build_object('id', e.id + n, 'xid', e.xid::text))).*
     FROM events e, generate_series(1, 4999) n WHERE e.id = (SELECT max(id) FROM events)`,
  )
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

beforeEach(async () => {
  await gateway.sql('TRUNCATE webhook_deliveries, webhooks')
  deliveries = deliveryServices({ database: gateway.database, secrets: createSecrets('a secret of tests') })
})

type Backlog = { accounts: number; webhooksEach?: number; deliveriesEach: number; dueInMs: number }

/** Creates accounts whose webhooks have deliveries. Returns the ids of the accounts. */
async function addBacklog({ accounts, webhooksEach = 1, deliveriesEach, dueInMs }: Backlog): Promise<number[]> {
  const copies = (await gateway.sql(
    `INSERT INTO accounts (email, created_at)
     SELECT gen_random_uuid() || '@example.com', now() FROM generate_series(1, $1) RETURNING id`,
    [accounts],
  )) as { id: number }[]
  const ids = copies.map(({ id }) => id)
  await gateway.sql(
    `WITH created AS (
       INSERT INTO webhooks (account_id, sealed_url, kinds, secret, created_at)
       SELECT a, convert_to(a || '/' || n, 'UTF8'), '{CREDIT_GRANTED}', '', now()
       FROM unnest($1::int[]) a, generate_series(1, $2) n RETURNING id
     )
     INSERT INTO webhook_deliveries (webhook_id, event_id, due_at)
     SELECT w.id, e.id, $4::timestamptz FROM created w, (SELECT id FROM events ORDER BY id DESC LIMIT $3) e`,
    [ids, webhooksEach, deliveriesEach, new Date(clock.now().getTime() + dueInMs)],
  )
  await gateway.sql('ANALYZE webhooks, webhook_deliveries')
  return ids
}

/** Nothing is sent here, so the backlog says instead of a URL whose it is. */
const accountOf = ({ sealedUrl }: DeliveryLease) => Number(Buffer.from(sealedUrl).toString().split('/')[0])

async function finish(leases: DeliveryLease[]): Promise<void> {
  const ids = leases.map(({ deliveryId }) => String(deliveryId))
  await gateway.sql('UPDATE webhook_deliveries SET due_at = NULL, leased_until = NULL WHERE id = ANY($1::bigint[])', [
    ids,
  ])
}

/** Leases and finishes deliveries until `isLast` names one. Returns the number of leases, at most `most`. */
async function countLeases(
  isLast: (lease: DeliveryLease) => boolean,
  { limit = 1, most }: { limit?: number; most: number },
) {
  for (let count = 1; count <= most; count += 1) {
    const leases = await deliveries.leaseDue(limit)
    if (leases.some(isLast)) return count
    await finish(leases)
  }
  return Number.POSITIVE_INFINITY
}

describe('webhooks that are far behind', () => {
  it.each([
    { behind: 1, deliveriesEach: 5_000, most: 20 },
    { behind: 40, deliveriesEach: 100, most: 600 },
    { behind: 300, deliveriesEach: 20, most: 4_000 },
  ])(
    'do not shut out a later webhook, if $behind are $deliveriesEach behind',
    async ({ behind, deliveriesEach, most }) => {
      await addBacklog({ accounts: behind, deliveriesEach, dueInMs: -600_000 })
      const [later] = await addBacklog({ accounts: 1, deliveriesEach: 1, dueInMs: -1_000 })
      // Chance decides, and exceeds this once in a million runs. In order of time, all of the backlog would come first.
      const count = await countLeases(lease => accountOf(lease) === later, { most })
      expect(count).toBeLessThanOrEqual(most)
    },
  )

  it('do not shut out another webhook of the same account', async () => {
    await addBacklog({ accounts: 1, deliveriesEach: 2_000, dueInMs: -600_000 })
    await addBacklog({ accounts: 40, deliveriesEach: 100, dueInMs: -300_000 })
    await gateway.sql(`UPDATE webhooks SET account_id = (SELECT min(account_id) FROM webhooks), sealed_url = '0'
      WHERE id = (SELECT max(id) FROM webhooks)`)
    await gateway.sql(`UPDATE webhook_deliveries SET due_at = $1 WHERE webhook_id = (SELECT max(id) FROM webhooks)`, [
      new Date(clock.now().getTime() - 1_000),
    ])
    expect(await countLeases(lease => accountOf(lease) === 0, { most: 1_200 })).toBeLessThanOrEqual(1_200)
  })

  it('are passed if they have all deliveries in progress that they may have', async () => {
    await addBacklog({ accounts: 200, deliveriesEach: 3, dueInMs: -600_000 })
    await gateway.sql(
      `UPDATE webhook_deliveries d SET leased_until = $1 WHERE
       (SELECT count(*) FROM webhook_deliveries o WHERE o.webhook_id = d.webhook_id AND o.id < d.id) < 2`,
      [new Date(clock.now().getTime() + 30_000)],
    )
    const [later] = await addBacklog({ accounts: 1, deliveriesEach: 1, dueInMs: -1_000 })
    expect(await countLeases(lease => accountOf(lease) === later, { limit: 32, most: 4 })).toBeLessThanOrEqual(4)
  })
})

it('sends each of many due deliveries, and first to each account', async () => {
  const accounts = await addBacklog({ accounts: 30, webhooksEach: 8, deliveriesEach: 2, dueInMs: -600_000 })
  const first = await deliveries.leaseDue(32)
  expect(first).toHaveLength(32)
  await finish(first)
  const taken = new Map<number, number>()
  for (let count = 0; count < 30 * 8 * 2; count += 1) {
    const leases = await deliveries.leaseDue(32)
    for (const lease of leases) taken.set(accountOf(lease), (taken.get(accountOf(lease)) ?? 0) + 1)
    await finish(leases)
    if (leases.length === 0) break
  }
  for (const lease of first) taken.set(accountOf(lease), (taken.get(accountOf(lease)) ?? 0) + 1)
  expect(taken).toEqual(new Map(accounts.map(id => [id, 16])))
})

describe('a lease', () => {
  async function measureLease(): Promise<number> {
    const explained = await explainStatements(() => deliveries.leaseDue(32))
    return Math.max(...explained.map(({ plan }) => countRowsRead(plan)))
  }

  it('reads nothing of 2,000 webhooks that wait for a retry', async () => {
    await addBacklog({ accounts: 2_000, deliveriesEach: 5, dueInMs: 3_600_000 })
    expect(await measureLease()).toBe(0)
  })

  it.each([
    { behind: 2_000, deliveriesEach: 5 },
    { behind: 1, deliveriesEach: 5_000 },
  ])('reads few rows if $behind webhooks are $deliveriesEach behind', async ({ behind, deliveriesEach }) => {
    await addBacklog({ accounts: 2_000, deliveriesEach: 5, dueInMs: 3_600_000 })
    await addBacklog({ accounts: behind, deliveriesEach, dueInMs: -600_000 })
    expect(await measureLease()).toBeLessThan(800)
  })

  it('reads few rows if nearly all deliveries are of one webhook', async () => {
    await addBacklog({ accounts: 1, deliveriesEach: 5_000, dueInMs: -600_000 })
    await addBacklog({ accounts: 2, deliveriesEach: 1, dueInMs: -1_000 })
    expect(await measureLease()).toBeLessThan(800)
  })
})
