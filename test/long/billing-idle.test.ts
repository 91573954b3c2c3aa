// While 100,000 instances run and nothing changes, billing costs the database nothing per instance.

import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { creditStatusOf } from '../../src/domain/billing/balance.ts'
import { readBalance } from '../../src/services/billing/balance.ts'
import { dueBillingServices } from '../../src/services/billing/due/due.ts'
import { manualClock } from '../support/clock.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { listMachines } from '../support/factories.ts'
import { type Gateway, openGateway } from '../support/gateways.ts'

const accounts = 100
const perAccount = 1_000
const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let statements = 0

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  gateway.database.pool.on('connect', client => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    const countedQuery = (...args: unknown[]) => {
      statements += 1
      return query(...args)
    }
    client.query = countedQuery as typeof client.query
  })
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

/** Copies one rental to many accounts with $1,000,000 each. */
async function fillAccounts(): Promise<void> {
  await listMachines(gateway.operations, [{}])
  const actor = await gateway.newActor()
  const [offer] = await gateway.sql('SELECT id FROM offers')
  const { id } = await gateway.rent(actor, BigInt(offer?.['id'] as string))
  // This client has no statement timeout, and can disable the foreign keys to offers.
  const client = new pg.Client({ connectionString: testDatabase.url })
  await client.connect()
  const { rows } = await client.query(`
    SELECT string_agg(quote_ident(column_name), ', ') AS all FROM information_schema.columns
    WHERE table_name = 'instances' AND column_name NOT IN ('id', 'account_id', 'offer_id', 'status')`)
  const columns = rows[0].all as string
  await client.query(`
    INSERT INTO accounts (email) SELECT 'many-' || n || '@example.com' FROM generate_series(1, ${accounts}) n;
    INSERT INTO ledger_entries (account_id, kind, amount_nanos, posted_at)
    SELECT id, 'top_up', 1000000000000000, now() FROM accounts WHERE email LIKE 'many-%';
    SET session_replication_role = replica;
    INSERT INTO instances (account_id, offer_id, status, ${columns})
    SELECT a.id, -row_number() OVER (), 'running', ${columns.replaceAll(/(^|, )/g, '$1i.')} FROM instances i
    CROSS JOIN accounts a CROSS JOIN generate_series(1, ${perAccount}) n WHERE i.id = ${id} AND a.email LIKE 'many-%';
    SET session_replication_role = origin;
    INSERT INTO meters (account_id, instance_id, kind, rate_nanos, since)
    SELECT i.account_id, i.id, k.kind::charge_kind, CASE k.kind WHEN 'disk' THEN disk_nanos ELSE gpu_price_nanos END,
      '${clock.now().toISOString()}'
    FROM instances i JOIN accounts a ON a.id = i.account_id CROSS JOIN (VALUES ('gpu'), ('disk')) k(kind)
    WHERE a.email LIKE 'many-%';
    UPDATE accounts SET billing_due_at = '${clock.now().toISOString()}';
    ANALYZE`)
  await client.end()
}

it('takes one statement per poll and none per instance in an hour without changes', async () => {
  await fillAccounts()
  const billing = dueBillingServices({ database: gateway.database, log: gateway.log }, { debtGraceMs: 48 * 3_600_000 })
  const chargeAllDue = async () => {
    let leased = 0
    for (let leases = await billing.leaseDue(16); leases.length > 0; leases = await billing.leaseDue(16)) {
      for (const lease of leases) await billing.perform(lease)
      leased += leases.length
    }
    return leased
  }
  statements = 0
  expect(await chargeAllDue()).toBeGreaterThanOrEqual(accounts)
  const first = statements

  // An hour of a gateway that polls every second.
  statements = 0
  let leased = 0
  const before = performance.now()
  for (let second = 0; second < 3_600; second += 1) {
    clock.advance(1_000)
    leased += await chargeAllDue()
  }
  const tookMs = Math.round(performance.now() - before)
  expect({ statements, looks: leased }).toEqual({ statements: 3_600, looks: 0 })
  const [count] = await gateway.sql("SELECT count(*)::int AS entries FROM ledger_entries WHERE kind <> 'top_up'")
  expect(count).toEqual({ entries: 0 })

  // One statement still computes the exact credit of an account.
  const [row] = await gateway.sql("SELECT max(id) AS id FROM accounts WHERE email LIKE 'many-%'")
  statements = 0
  const balance = await readBalance(gateway.database, row?.['id'] as number, clock.now())
  expect(statements).toBe(1)
  const hourly = BigInt(perAccount) * (400_000_000n + 4_000_000n)
  expect(creditStatusOf(balance)).toMatchObject({
    creditNanos: 1_000_000_000_000_000n - hourly,
    costPerHourNanos: hourly,
  })
  process.stdout.write(`${JSON.stringify({ instances: accounts * perAccount, first, hour: 3_600, tookMs })}\n`)
})
