// The database's clock goes back, as after somebody has set it right: nothing waits for as long as it went back.

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { dueBillingServices } from '../../../src/services/billing/due/due.ts'
import { holdServices } from '../../../src/services/machines/agents/holds.ts'
import { clockStepChores } from '../../../src/services/reconciliation/clock-steps.ts'
import { createFairLease } from '../../../src/services/reconciliation/fair-lease.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { deliveryServices } from '../../../src/services/webhooks/delivery.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { writeEvent } from '../../support/events/events.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
const hourMs = 3_600_000
let testDatabase: TestDatabase
let gateway: Gateway
let instanceId: bigint
let accountId: number

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  await listMachines(gateway.operations, [{}])
  const actor = await gateway.newActor()
  accountId = actor.accountId
  const [offer] = await gateway.sql('SELECT id FROM offers LIMIT 1')
  instanceId = (await gateway.rent(actor, BigInt(offer?.['id'] as string))).id
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

/** One gateway leases an hour ahead and dies. Returns what others lease then, and when the clock has gone back. */
async function leaseAcrossStep<Leased>(lease: () => Promise<Leased>): Promise<Leased[]> {
  clock.advance(hourMs)
  const leased = [await lease(), await lease()]
  clock.advance(-hourMs)
  return [...leased, await lease(), await lease()]
}

const connectHost = () =>
  gateway.sql(
    `WITH engine AS (
      INSERT INTO engines (machine_id, mark, identity, gpu_access, gpu_uuids, connected_at)
      VALUES (1, 'm', 'i', 'none', '{}', now()) ON CONFLICT DO NOTHING
    ) INSERT INTO agents (machine_id, key_hash, joined_at) VALUES (1, sha256('key'), now()) ON CONFLICT DO NOTHING`,
  )

beforeEach(() => clock.advance(60_000))

it('leases an instance again', async () => {
  const lease = createFairLease({ database: gateway.database, gatewayId: undefined })
  const ids = async () => (await lease({ limit: 1, busy: [] })).ids
  expect(await leaseAcrossStep(ids)).toEqual([[instanceId], [], [instanceId], []])
})

it('leases a policy again', async () => {
  await gateway.sql('UPDATE instances SET policy_due_at = $1', [clock.now()])
  const ids = async () => (await gateway.policies.leaseDue(1)).map(one => one.instanceId)
  expect(await leaseAcrossStep(ids)).toEqual([[instanceId], [], [instanceId], []])
})

it('leases an account again', async () => {
  await gateway.sql('UPDATE accounts SET billing_due_at = CASE WHEN id = $1 THEN $2::timestamptz END', [
    accountId,
    clock.now(),
  ])
  const { services: _, ...deps } = gateway
  const billing = dueBillingServices(deps, { debtGraceMs: hourMs })
  const ids = async () => (await billing.leaseDue(1)).map(one => one.accountId)
  expect(await leaseAcrossStep(ids)).toEqual([[accountId], [], [accountId], []])
})

it('leases both deliveries of a webhook again', async () => {
  for (let count = 0; count < 3; count += 1) await writeEvent(gateway.sql, { accountId })
  await gateway.sql(
    `WITH created AS (
      INSERT INTO webhooks (account_id, sealed_url, kinds, secret, created_at) VALUES ($1, 'x', '{CREDIT_GRANTED}', '', $2) RETURNING id
    ) INSERT INTO webhook_deliveries (webhook_id, event_id, due_at)
      SELECT created.id, e.id, $2 FROM created, (SELECT id FROM events ORDER BY id DESC LIMIT 3) e`,
    [accountId, clock.now()],
  )
  const deliveries = deliveryServices({ database: gateway.database, secrets: createSecrets('a secret of tests') })
  const lease = async () => [...(await deliveries.leaseDue(1)), ...(await deliveries.leaseDue(1))].length
  expect(await leaseAcrossStep(lease)).toEqual([2, 0, 2, 0])
})

it('makes instances due that were to be seen again soon', async () => {
  let stepsBack = 0
  const start = () => clockStepChores(gateway, () => stepsBack)
  let { mendDueInstances } = start()
  const dueInMinutes = async (minutes: number) => {
    await gateway.sql('UPDATE instance_looks SET due_at = $1', [new Date(clock.now().getTime() + minutes * 60_000)])
    await mendDueInstances(10)
    const rows = await gateway.sql(
      'SELECT extract(epoch FROM due_at - $1)::float / 60 AS minutes FROM instance_looks',
      [clock.now()],
    )
    return rows[0]?.['minutes']
  }
  expect(await dueInMinutes(10)).toBe(10)
  mendDueInstances = start().mendDueInstances
  // Only the first look of a gateway finds a step that it has not seen.
  expect([await dueInMinutes(60), await dueInMinutes(60)]).toEqual([0, 60])
  stepsBack += 1
  expect([await dueInMinutes(1), await dueInMinutes(5)]).toEqual([1, 5])
  stepsBack += 1
  expect([await dueInMinutes(5), await dueInMinutes(5)]).toEqual([0, 5])
})

it('makes deliveries due that were written or tried in the future', async () => {
  let stepsBack = 0
  const { mendDueDeliveries } = clockStepChores(gateway, () => stepsBack)
  const inMinutes = (minutes: number) => new Date(clock.now().getTime() + minutes * 60_000)
  const set = 'UPDATE webhook_deliveries SET due_at = $1, attempts = $2, attempted_at = $3'
  const isDueAfter = async (...values: [dueInMinutes: number, attempts: number, attemptedInMinutes: number]) => {
    await gateway.sql(set, [inMinutes(values[0]), values[1], inMinutes(values[2])])
    stepsBack += 1
    return (await mendDueDeliveries(10)) > 0
  }
  expect(await isDueAfter(60, 0, 0)).toBe(true)
  expect(await isDueAfter(70, 1, 60)).toBe(true)
  expect(await isDueAfter(30, 3, -1)).toBe(false)
  await gateway.sql(set, [inMinutes(60), 0, null])
  expect(await mendDueDeliveries(10)).toBe(0)
})

it('samples machines at once that were to be sampled soon', async () => {
  await connectHost()
  const due = (minutes: number) =>
    gateway.sql(
      'INSERT INTO samplings VALUES (1, $1) ON CONFLICT (machine_id) DO UPDATE SET due_at = excluded.due_at',
      [new Date(clock.now().getTime() + minutes * 60_000)],
    )
  const { mendDueSamples } = clockStepChores(gateway, () => 0)
  await due(0.25)
  expect(await mendDueSamples()).toBe(0)
  await due(60)
  expect(await mendDueSamples()).toBe(1)
})

it('lets a host connect to another gateway', async () => {
  await connectHost()
  const [here, there] = [randomUUID(), randomUUID()].map(gatewayId =>
    holdServices({ database: gateway.database, gatewayId }),
  )
  clock.advance(hourMs)
  await here?.claim({ key: 'key', version: '1', generation: 0 })
  expect(await there?.findElsewhere('key')).toMatchObject({ machineId: 1 })
  clock.advance(-hourMs)
  expect(await there?.findElsewhere('key')).toBeUndefined()
})
