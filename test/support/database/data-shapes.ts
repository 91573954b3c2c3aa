// Databases after long use, in several shapes: the number of accounts, and how many rentals each of them has. A third of
// the rentals is living.

import type { TestApp } from '../app.ts'
import { makeEverything } from '../faces/everything.ts'
import { type Rentals, rentalsOf } from '../instances/rentals.ts'
import { type Copy, copyRows } from './copies.ts'
import { withSession } from './sessions.ts'

/** Accounts that have the same number of rentals. The first account of the first group is the renter's. */
type Group = { accounts: number; rentalsEach: number }
type Shape = [Group, ...Group[]]

export const dataShapes: Record<string, Shape> = {
  'few accounts with many rentals': [{ accounts: 3, rentalsEach: 2_000 }],
  'many accounts with few rentals': [{ accounts: 2_000, rentalsEach: 3 }],
  'one account with most rentals': [
    { accounts: 1, rentalsEach: 3_000 },
    { accounts: 2_000, rentalsEach: 1 },
  ],
}

/** Machines with 8 GPUs, if a test does not say how many. Their hosts are accounts that do nothing else. */
export const machines = 2_000
/** The lowest id of the copies. It is above all ids that tests use. */
export const firstCopyId = 1_000_000
/** Due times of copies: no copy is due while a test runs. */
const later = "'2027-11-21T00:00:00Z'::timestamptz"

/** The API key of the renter, a machine of 8 GPUs that one rental in thirty was on, and what was copied. */
export type FilledData = { renter: string; machineId: number; source: Source }

/**
 * Makes one item of each type through the app, and copies them. Triggers and foreign keys are off meanwhile: with them,
 * copying would take minutes.
 */
export async function fillWithRentals(app: TestApp, shape: Shape, count = machines): Promise<FilledData> {
  // Otherwise the server would make new statistics at any moment.
  for (const table of await tableNames(app)) await app.sql(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`)
  const renter = await app.newKey(null, { creditNanos: 100_000_000_000n })
  const rentals = rentalsOf(app)
  const source = await makeSource(app, renter, rentals)
  const [offer] = (await app.sql(
    `SELECT machine_id AS "machineId" FROM offers WHERE id = ${await rentals.newOffer({ numGpus: 8 })}`,
  )) as { machineId: number }[]
  const machineId = offer?.machineId as number
  await withSession(app.database.url, async session => {
    await session.query('BEGIN')
    await session.query('SET LOCAL session_replication_role = replica')
    for (const part of [1, 2]) for (const statement of partitionStatements(part)) await session.query(statement)
    for (const statement of copyStatements(shape, machineId, source, count)) await copyRows(session, statement)
    await session.query('COMMIT')
    await session.query('VACUUM ANALYZE')
  })
  return { renter, machineId, source }
}

/** The partitions of events whose ids begin with this many billions. New events go to the last one. */
export function partitionStatements(part: number): string[] {
  const first = part * 1_000_000_000
  const add = (table: string) => [
    `CREATE TABLE ${table}_from_${first} (LIKE ${table} INCLUDING ALL)`,
    `ALTER TABLE ${table} ATTACH PARTITION ${table}_from_${first} FOR VALUES FROM (${first}) TO (${first + 1_000_000_000})`,
  ]
  return [...add('events'), ...add('webhook_deliveries'), `SELECT setval('events_id_seq', ${first}, false)`]
}

async function tableNames(app: TestApp): Promise<string[]> {
  const rows = (await app.sql(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`,
  )) as { name: string }[]
  return rows.map(({ name }) => name)
}

export type Source = { accountId: number; instanceId: number; volumeId: number; machineId: number; offerId: number }

/** An account with an item of each type, and charges of an hour. */
async function makeSource(app: TestApp, renter: string, rentals: Rentals): Promise<Source> {
  const instanceId = Number((await makeEverything(app, renter, rentals)).slice('ins_'.length))
  await app.sql('UPDATE accounts SET billing_due_at = created_at')
  await rentals.converge()
  const [row] = (await app.sql(
    `SELECT account_id AS "accountId", i.id::int AS "instanceId", v.volume_id::int AS "volumeId",
       machine_id AS "machineId", offer_id::int AS "offerId"
     FROM instances i JOIN (SELECT instance_id, volume_id FROM volume_attachments) v ON v.instance_id = i.id
     WHERE i.id = ${instanceId}`,
  )) as Source[]
  return row as Source
}

function copyStatements(shape: Shape, machineId: number, source: Source, machines: number): (string | Copy)[] {
  const groups = shape.map(
    ({ accounts, rentalsEach }, group) =>
      `SELECT ${group}, a, r FROM generate_series(1, ${accounts}) a, generate_series(1, ${rentalsEach}) r`,
  )
  const others = `(SELECT DISTINCT account_id FROM rentals WHERE account_id <> ${source.accountId}) r`
  /** The first item that the source has in a table. */
  const firstOf = (table: string) => `s.id = (SELECT min(id) FROM ${table} WHERE account_id = ${source.accountId})`
  /** The id of what the account of the rental has one of: the copy of it, or the renter's own. */
  const own = (id: string) => `CASE WHEN r.account_id = ${source.accountId} THEN ${id} ELSE r.account_id END`
  const meterId = (kind: string) => `4 * r.id + CASE WHEN ${kind} = 'gpu' THEN 0 ELSE 1 END`
  const rental = { account_id: 'r.account_id', machine_id: 'r.machine_id' }
  const copiedMachines = `generate_series(${firstCopyId}, ${firstCopyId + machines - 1}) machine (id)`
  return [
    // Each account begins its rentals among those of others.
    `CREATE TEMP TABLE rentals ON COMMIT DROP AS SELECT id, account_id, living,
       CASE WHEN living OR id % 10 > 0 THEN ${firstCopyId} + place % ${machines} ELSE ${machineId} END AS machine_id,
       (place / ${machines}) % 4 AS gpu, living AND account_id <> ${source.accountId} AS running
     FROM (
       SELECT *, row_number() OVER (PARTITION BY living ORDER BY id) AS place FROM (
         SELECT id, account_id, hashint8(id) % 3 = 0 AS living FROM (
           SELECT ${firstCopyId} + row_number() OVER (ORDER BY r, hashint4(a)) AS id,
             CASE WHEN g = 0 AND a = 1 THEN ${source.accountId} ELSE ${firstCopyId} + g + 10 * a END AS account_id
           FROM (${groups.join(' UNION ALL ')}) accounts (g, a, r)
         ) numbered
       ) rented
     ) placed`,
    'ANALYZE rentals',
    {
      ...{ table: 'accounts', from: others, where: `s.id = ${source.accountId}` },
      changes: { id: 'r.account_id', email: `r.account_id || '@example.com'`, billing_due_at: later },
    },
    {
      ...{ table: 'api_keys', from: others },
      where: `s.id = (SELECT api_key_id FROM instances WHERE id = ${source.instanceId})`,
      changes: { id: 'r.account_id', account_id: 'r.account_id', public_id: `'copy' || r.account_id` },
    },
    ...['ssh_keys', 'webhooks'].map(table => ({
      ...{ table, from: others, where: firstOf(table) },
      changes: { id: 'r.account_id', account_id: 'r.account_id' },
    })),
    {
      ...{ table: 'templates', from: others, where: firstOf('templates') },
      changes: { id: 'r.account_id', account_id: 'r.account_id', hash_id: 'md5(r.account_id::text)' },
    },
    {
      ...{ table: 'spend_limits', from: others, where: firstOf('spend_limits') },
      changes: { id: 'r.account_id', account_id: 'r.account_id', api_key_id: 'r.account_id' },
    },
    {
      ...{ table: 'machines', from: copiedMachines, where: `s.id = ${machineId}` },
      changes: {
        ...{ id: 'machine.id', host_id: '500000 + machine.id % 100' },
        disk_price_per_gb_month_nanos: 's.disk_price_per_gb_month_nanos + machine.id',
        reliability: 's.reliability - machine.id % 997 / 100000.0',
      },
    },
    {
      ...{ table: 'gpus', from: copiedMachines, where: `s.machine_id = ${machineId}` },
      changes: { machine_id: 'machine.id' },
    },
    // Living rentals have the first GPUs. The others are on offer.
    {
      ...{ table: 'offers', from: copiedMachines, where: `s.machine_id = ${machineId} AND s.first_gpu >= 4` },
      changes: {
        ...{ id: '100 * machine.id + s.id % 100', machine_id: 'machine.id' },
        ...{ leads: 's.first_gpu = 4', leads_bids: 's.first_gpu = 4' },
      },
    },
    {
      ...{ table: 'offers', from: 'rentals r', where: `s.id = ${source.offerId}` },
      changes: { id: 'r.id', machine_id: 'r.machine_id', first_gpu: 'r.gpu' },
    },
    {
      ...{ table: 'instances', from: 'rentals r', where: `s.id = ${source.instanceId}` },
      changes: {
        ...{ ...rental, id: 'r.id', offer_id: 'r.id', first_gpu: 'r.gpu', label: `'job ' || r.id % 100` },
        ...{ api_key_id: own('s.api_key_id'), template_id: own('s.template_id') },
        target_state: `CASE WHEN r.running THEN 'running' ELSE 'stopped' END::target_state`,
        status: `CASE WHEN r.running THEN 'running' ELSE 'stopped' END::instance_status`,
        destroyed_at: 'CASE WHEN NOT r.living THEN s.created_at END',
        removed_at: 'CASE WHEN NOT r.living THEN s.created_at END',
        policy_due_at: `CASE WHEN r.living THEN ${later} END`,
      },
    },
    {
      ...{ table: 'instance_looks', from: 'rentals r', where: `s.instance_id = ${source.instanceId}` },
      changes: {
        ...{ instance_id: 'r.id', account_id: 'r.account_id' },
        due_at: `CASE WHEN r.running THEN ${later} END`,
      },
    },
    `UPDATE gpus SET holder_id = r.id, occupant_id = r.id FROM rentals r
     WHERE r.running AND r.machine_id = gpus.machine_id AND r.gpu = index`,
    {
      ...{ table: 'port_bindings', from: 'rentals r', where: `s.instance_id = ${source.instanceId} AND r.living` },
      changes: { instance_id: 'r.id', machine_id: 'r.machine_id', host_port: 's.host_port + 1000 * r.gpu' },
    },
    {
      ...{ table: 'simulated_containers', from: 'rentals r' },
      where: `s.instance_id = ${source.instanceId} AND r.living`,
      changes: { instance_id: 'r.id', machine_id: 'r.machine_id' },
    },
    {
      ...{ table: 'instance_ssh_keys', from: 'rentals r' },
      where: `s.instance_id = ${source.instanceId}
        AND s.ssh_key_id = (SELECT min(id) FROM ssh_keys WHERE account_id = ${source.accountId})`,
      changes: { instance_id: 'r.id', ssh_key_id: own('s.ssh_key_id') },
    },
    {
      ...{ table: 'volumes', from: 'rentals r', where: `s.id = ${source.volumeId}` },
      changes: { ...rental, id: 'r.id', deleted_at: 'CASE WHEN NOT r.living THEN s.created_at END' },
    },
    {
      ...{ table: 'volume_attachments', from: 'rentals r', where: `s.instance_id = ${source.instanceId}` },
      changes: {
        ...{ ...rental, instance_id: 'r.id', volume_id: 'r.id' },
        released_at: `CASE WHEN NOT r.living THEN ${later} END`,
      },
    },
    {
      ...{ table: 'meters', from: 'rentals r', where: `s.instance_id = ${source.instanceId}` },
      changes: {
        ...{ id: meterId('s.kind'), account_id: 'r.account_id', instance_id: 'r.id', api_key_id: own('s.api_key_id') },
        // Cents, so that an account can pay for all of its rentals.
        rate_nanos: `CASE WHEN r.living AND (r.running OR s.kind = 'disk') THEN 1 ELSE 0 END`,
        since: `s.since - CASE WHEN r.living THEN 0 ELSE 30 END * interval '1 day'`,
      },
    },
    {
      ...{ table: 'meters', from: 'rentals r', where: `s.volume_id = ${source.volumeId}` },
      changes: {
        ...{ id: '4 * r.id + 2', account_id: 'r.account_id', volume_id: 'r.id', api_key_id: own('s.api_key_id') },
        rate_nanos: 'CASE WHEN r.living THEN 1 ELSE 0 END',
        since: `s.since - CASE WHEN r.living THEN 0 ELSE 30 END * interval '1 day'`,
      },
    },
    // The next entry goes on from the last balance.
    `INSERT INTO ledger_entries (account_id, kind, amount_nanos, meter_id, period_start, period_end, rate_nanos, carried,
       posted_at, balance_after_nanos)
     SELECT account_id, kind::text::ledger_kind, -1000, id, since - n * interval '1 hour', since - (n - 1) * interval '1 hour',
       1000, 0, since - (n - 1) * interval '1 hour',
       (SELECT posted_nanos FROM accounts a WHERE a.id = account_id)
     FROM meters, generate_series(1, 2) n WHERE id > ${firstCopyId}`,
    {
      ...{
        table: 'events',
        from: '(SELECT *, ntile(3) OVER (ORDER BY id) FROM rentals) r',
        where: `s.instance_id = ${source.instanceId}`,
      },
      changes: {
        // The first third of the rentals is in the first partition.
        ...{
          id: '100 * r.id + s.id % 100 + (ntile - 1) * 1000000000',
          account_id: 'r.account_id',
          instance_id: 'r.id',
          subject_id: 'r.id',
        },
        ...{ xid: `(3 + (r.id - ${firstCopyId}) / 20)::text::xid8` },
        api_key_id: `CASE WHEN s.api_key_id IS NOT NULL THEN ${own('s.api_key_id')} END`,
      },
    },
    // A tenth of the deliveries wait for a retry. A few were leased by a gateway that died.
    `INSERT INTO webhook_deliveries (webhook_id, event_id, attempts, delivered_at, due_at, leased_until)
     SELECT w.id, e.id, 1, CASE WHEN waits THEN NULL ELSE e.created_at END, CASE WHEN waits THEN ${later} END,
       CASE WHEN waits AND e.id / 100 % 1000 = 0 THEN e.created_at END
     FROM (SELECT *, id / 100 % 10 = 0 AS waits FROM events) e JOIN webhooks w ON w.account_id = e.account_id
     WHERE e.kind = 'INSTANCE_CREATED' AND e.id > ${firstCopyId}`,
    // No machine answers.
    `INSERT INTO meter_ends (meter_id, account_id, at)
     SELECT id, account_id, ${later} FROM meters WHERE kind = 'gpu' AND rate_nanos > 0
     AND id > ${firstCopyId}`,
    `INSERT INTO results (token_hash, account_id, text, expires_at)
     SELECT sha256(id::text::bytea), account_id, 'x', ${later} FROM rentals WHERE id % 10 = 0`,
    `INSERT INTO idempotency_keys (account_id, key, input_hash, result, created_at)
     SELECT account_id, id::text, '', 'x', (SELECT created_at FROM instances WHERE id = ${source.instanceId}) FROM rentals`,
  ]
}
