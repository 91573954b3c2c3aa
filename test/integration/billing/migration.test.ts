// Migrates a database from before the ledger: accounts with credit, and instances in every state.

import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { migrate } from '../../../src/database/migrations.ts'
import { creditStatusOf } from '../../../src/domain/billing/balance.ts'
import { readBalance } from '../../../src/services/billing/balance.ts'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { migrateUntil } from '../../support/database/migrations.ts'
import { withSession } from '../../support/database/sessions.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const billing = '20261121170000_billing'
let testDatabase: TestDatabase
let gateway: Gateway

/** Loads the rows that a gateway wrote before there was a ledger: of two renters and an account without credit. */
beforeAll(async () => {
  testDatabase = await createDatabase({ empty: true })
  gateway = openGateway({ url: testDatabase.url, now: () => new Date(Date.now() + 3_600_000) })
  await migrateUntil(testDatabase.url, billing)
  const tables = JSON.parse(await readFile(new URL('../../data/before-billing.json', import.meta.url), 'utf8'))
  await withSession(testDatabase.url, async session => {
    await session.query('SET session_replication_role = replica')
    for (const [table, rows] of Object.entries(tables)) {
      await session.query(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`, [
        JSON.stringify(rows),
      ])
    }
    await session.query('SET session_replication_role = origin')
    await session.query("SELECT setval('events_id_seq', max(id)) FROM events")
  })
  expect((await migrate(testDatabase.url)).at(0)).toBe(billing)
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

const instances = {
  ...{ running: 1, bid: 2, outbid: 3, rival: 4, created: 5, stopped: 6, exited: 7, offline: 8, unknown: 9 },
  ...{ removed: 10, other: 11, destroyed: 12 },
}
const [renter, outbidder, poor] = ['renter-1@example.com', 'renter-2@example.com', 'renter-3@example.com']

it('keeps the credit of every account and explains it in the ledger', async () => {
  const rows = await gateway.sql(`
    SELECT email, kind, amount_nanos, balance_after_nanos, note, idempotency_key, posted_at, created_at
    FROM accounts a LEFT JOIN ledger_entries l ON l.account_id = a.id WHERE email <> 'host@example.com' ORDER BY a.id, l.id`)
  const lines = rows.map(({ posted_at, created_at, ...row }) => Object.values(row))
  expect(lines).toEqual([
    [renter, 'top_up', '100000000000', '100000000000', null, null],
    [renter, 'top_up', '2500000001', '102500000001', 'welcome', 'ticket 7'],
    [renter, 'top_up', '7', '102500000008', null, null],
    [outbidder, 'adjustment', '-60000000000', '-60000000000', 'Balance before there was a ledger', null],
    [outbidder, 'top_up', '100000000000', '40000000000', null, null],
    [poor, null, null, null, null, null],
  ])
  const [, granted] = await gateway.sql("SELECT created_at FROM events WHERE kind = 'CREDIT_GRANTED' ORDER BY id")
  expect(rows[1]?.['posted_at']).toEqual(granted?.['created_at'])
  expect(rows[3]?.['posted_at']).toEqual(rows[3]?.['created_at'])
  expect(await brokenLaws(gateway.sql)).toEqual([])
})

it('opens meters for existing instances and none for destroyed ones', async () => {
  const rows = await gateway.sql(`
    SELECT m.instance_id, m.kind, m.rate_nanos, m.since > now() - interval '10 minutes' AS now, m.api_key_id = i.api_key_id AS of_key
    FROM meters m JOIN instances i ON i.id = m.instance_id AND i.account_id = m.account_id ORDER BY m.instance_id, m.kind`)
  expect(rows.every(({ now, of_key }) => now === true && of_key === true)).toBe(true)
  const rates = (kind: string) =>
    Object.fromEntries(
      rows.filter(row => row['kind'] === kind).map(row => [row['instance_id'], Number(row['rate_nanos'])]),
    )
  const { running, bid, outbid, created, stopped, exited, offline, unknown, other, rival } = instances
  const none = { [outbid]: 0, [created]: 0, [stopped]: 0, [exited]: 0, [offline]: 0, [unknown]: 0 }
  expect(rates('gpu')).toEqual({
    ...none,
    ...{ [running]: 400_000_000, [bid]: 300_000_000, [rival]: 500_000_000, [other]: 400_000_000 },
  })
  const disks = [running, bid, outbid, rival, created, stopped, exited, other].map(id => [id, 4_000_000])
  expect(rates('disk')).toEqual({ ...Object.fromEntries(disks), [offline]: 0, [unknown]: 0 })
  expect(await gateway.sql('SELECT volume_id, kind, rate_nanos FROM meters WHERE volume_id IS NOT NULL')).toEqual([
    { volume_id: '1', kind: 'disk', rate_nanos: '5000000' },
  ])
  const due = await gateway.sql('SELECT email FROM accounts WHERE billing_due_at IS NOT NULL ORDER BY id')
  expect(due.map(({ email }) => email)).toEqual([renter, outbidder])
})

it('recognizes earlier grants and charges instances that are destroyed afterwards', async () => {
  const again = { amountNanos: 2_500_000_001n, idempotencyKey: 'ticket 7' }
  const [beforeNanos, afterNanos] = [100_000_000_000n, 102_500_000_001n]
  expect(await gateway.operations.accounts.grantCredit(renter, again)).toEqual({
    ...{ email: renter, beforeNanos, afterNanos, replayed: true },
  })
  const [account] = await gateway.sql('SELECT account_id, since FROM meters WHERE instance_id = $1', [instances.rival])
  const accountId = account?.['account_id'] as number
  const since = account?.['since'] as Date
  const at = new Date(since.getTime() + 3_600_000)
  const { creditNanos } = creditStatusOf(await readBalance(gateway.database, accountId, at))
  expect(creditNanos).toBe(40_000_000_000n - 500_000_000n - 4_000_000n)
  const actor = { accountId, apiKeyId: 1, publicId: '', permissions: null }
  for (const { id } of await gateway.sql('SELECT id FROM instances WHERE account_id = $1', [accountId])) {
    await gateway.services.instances.destroy(actor, { ids: [BigInt(id as string)] })
  }
  expect(await brokenLaws(gateway.sql)).toEqual([])
  // Instances destroyed or removed before the migration have no meters.
  expect(
    await gateway.sql('SELECT id FROM meters WHERE instance_id = ANY($1)', [[instances.removed, instances.destroyed]]),
  ).toEqual([])
})

it('keeps spend limits with the time of their creation, and tells their events apart', async () => {
  const database = await createDatabase({ empty: true })
  await migrateUntil(database.url, '20261123130000')
  const old = openGateway({ url: database.url, now: () => new Date() })
  const [account] = await old.sql(`INSERT INTO accounts (email) VALUES ('old@example.com') RETURNING id`)
  const limits = ['hour', 'day'].map(
    (window, index) => `(${index + 1}, ${account?.['id']}, '${window}', 1, 'notify', '2026-03-0${index + 2}')`,
  )
  await old.sql(
    `INSERT INTO spend_limits (id, account_id, "window", amount_nanos, action, created_at) VALUES ${limits.join()}`,
  )
  const facts = [
    [null, '{"a": 1}', '2026-03-01'],
    ['{"a": 1}', '{"a": 2}', '2026-03-02'],
    ['{"a": 2}', null, '2026-03-03'],
  ]
  for (const [before, after, at] of facts) {
    await old.sql(
      `INSERT INTO events (kind, account_id, actor_kind, subject_type, subject_id, before, after, created_at)
      VALUES ('SPEND_LIMIT_CHANGED', $1, 'system', 'SpendLimit', 1, $2, $3, $4)`,
      [account?.['id'], before, after, at],
    )
  }
  await old.sql(
    `INSERT INTO webhooks (account_id, url, kinds, secret, created_at)
    VALUES ($1, 'https://example.com/', '{SPEND_LIMIT_CHANGED,CREDIT_GRANTED}', '', now())`,
    [account?.['id']],
  )
  await migrate(database.url)
  const kinds = ['SPEND_LIMIT_CREATED', 'SPEND_LIMIT_UPDATED', 'SPEND_LIMIT_DELETED']
  expect(await old.sql('SELECT kind FROM events ORDER BY id')).toEqual(kinds.map(kind => ({ kind })))
  expect(await old.sql('SELECT kinds, name FROM webhooks')).toEqual([
    { kinds: ['CREDIT_GRANTED', ...kinds], name: null },
  ])
  const day = (date: string) => new Date(`${date}T00:00:00Z`)
  expect(await old.sql('SELECT created_at, updated_at FROM spend_limits ORDER BY id')).toEqual([
    { created_at: day('2026-03-01'), updated_at: day('2026-03-02') },
    { created_at: day('2026-03-03'), updated_at: day('2026-03-03') },
  ])
  await old.close()
  await database.drop()
})
