// A gateway loses its database connection while it charges. No charge is lost or made twice.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { writeTogether } from '../../../src/database/together.ts'
import { transaction } from '../../../src/database/transaction.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { lockAccount } from '../../../src/services/billing/balance.ts'
import { chargeMeters, gpuMeterEndWrites } from '../../../src/services/billing/meters.ts'
import { refundAfter } from '../../../src/services/billing/refunds.ts'
import { instanceMetersSql } from '../../../src/services/billing/sql.ts'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let machineId = 0

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

type Rented = { actor: Actor; id: bigint; email: string }

/** Rents an instance with a bid of $0.3 an hour in a new account. It has run for about a minute. */
async function rentRunning(): Promise<Rented> {
  machineId += 1
  await listMachines(gateway.operations, [{ machine: { publicIp: `203.0.113.${machineId % 250}` } }])
  const actor = await gateway.newActor()
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE machine_id = $1', [machineId])
  const terms = { interruptible: true, bidNanos: 300_000_000n } as const
  const { id } = await gateway.rent(actor, BigInt(offer?.['id'] as string), { terms })
  for (let turn = 0; turn < 3; turn += 1) {
    await gateway.idle()
    clock.advance(20_000)
  }
  const [row] = await gateway.sql('SELECT email FROM accounts WHERE id = $1', [actor.accountId])
  return { actor, id, email: row?.['email'] as string }
}

/** All stored money of an account, without generated ids. */
async function moneyOf({ actor: { accountId } }: Rented): Promise<unknown> {
  return await gateway.sql(
    `SELECT a.posted_nanos, a.gpu_rate_nanos, a.disk_rate_nanos,
      (SELECT json_agg(json_build_array(kind, rate_nanos, since, carried, charged_nanos) ORDER BY id) FROM meters WHERE account_id = a.id) AS meters,
      (SELECT json_agg(json_build_array(kind, amount_nanos, period_start, period_end, balance_after_nanos) ORDER BY id)
        FROM ledger_entries WHERE account_id = a.id) AS ledger,
      (SELECT count(*) FROM meter_ends WHERE account_id = a.id) AS ends
     FROM accounts a WHERE a.id = $1`,
    [accountId],
  )
}

type Action = (by: Gateway, rented: Rented) => Promise<unknown>
const allMetersSql = Prisma.sql`true`
const later = (ms: number) => new Date(clock.now().getTime() + ms)

const actions: Record<string, Action> = {
  'a gateway charges all running meters': (by, { actor }) =>
    transaction(by.database, async tx => {
      await chargeMeters(tx, await lockAccount(tx, actor.accountId, clock.now()), allMetersSql)
    }),
  'a gateway charges ended GPUs': async (by, { actor, id }) => {
    await transaction(by.database, async tx => {
      const ends = await tx.execute(Prisma.sql`SELECT FROM meter_ends WHERE account_id = ${actor.accountId}`)
      if (ends === 0) await writeTogether(tx, gpuMeterEndWrites([id], later(-5_000)))
      await chargeMeters(tx, await lockAccount(tx, actor.accountId, clock.now()), allMetersSql)
    })
  },
  'credit ends': (by, { actor }) =>
    transaction(by.database, async tx => {
      // The credit ends in 3,289 hours.
      const account = await lockAccount(tx, actor.accountId, later(4_000 * 3_600_000))
      await chargeMeters(tx, account, allMetersSql)
    }),
  'a renter stops an instance': (by, { actor, id }) =>
    by.services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' }),
  'a renter destroys an instance': (by, { actor, id }) => by.services.instances.destroy(actor, { ids: [id] }),
  'a renter changes a bid': (by, { actor, id }) => by.services.instances.updateBid(actor, id, 350_000_000n),
  'an operator grants credit': (by, { email }) =>
    by.operations.accounts.grantCredit(email, { amountNanos: 5n, idempotencyKey: 'once' }),
  'a gateway refunds a charge': (by, { actor, id }) =>
    transaction(by.database, async tx => {
      const account = await lockAccount(tx, actor.accountId, clock.now())
      await chargeMeters(tx, account, allMetersSql)
      const given = await tx.execute(Prisma.sql`
        SELECT FROM ledger_entries WHERE account_id = ${actor.accountId} AND kind = 'refund'`)
      if (given === 0) await refundAfter(tx, account, instanceMetersSql([id]), later(-7_000), 'a test')
    }),
}

/** Performs an action through a gateway that loses its connection before statement `place`, or after the commit. */
async function withFault(place: number, action: (by: Gateway) => Promise<unknown>) {
  const dying = openGateway({ url: testDatabase.url, now: clock.now, poolSize: 1 })
  let statements = 0
  let committed = false
  dying.database.pool.on('connect', client => {
    client.on('error', () => {})
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
    const counted = async (...args: unknown[]) => {
      if (committed) return await query(...args)
      statements += 1
      if (statements < place) {
        const result = await query(...args)
        committed = args[0] === 'COMMIT'
        if (!committed) return result
      }
      const { processID } = client as unknown as { processID: number }
      await gateway.sql('SELECT pg_terminate_backend($1, 5000)', [processID])
      throw new Error('The connection is lost.')
    }
    client.query = counted as typeof client.query
  })
  const failed = await action(dying).then(
    () => false,
    () => true,
  )
  await dying.close()
  expect(failed).toBe(true)
  return { committed }
}

it.each(Object.entries(actions))('charges once after a lost connection when %s', async (_name, action) => {
  const rented = await rentRunning()
  const before = await moneyOf(rented)
  for (let place = 1; ; place += 1) {
    const { committed } = await withFault(place, by => action(by, rented))
    if (committed) {
      expect(place).toBeGreaterThan(5)
      break
    }
    expect(await moneyOf(rented)).toEqual(before)
  }
  // A caller that did not hear of the commit repeats the action.
  const done = await moneyOf(rented)
  expect(done).not.toEqual(before)
  await action(gateway, rented)
  expect(await moneyOf(rented)).toEqual(done)
  expect(await brokenLaws(gateway.sql)).toEqual([])
})
