// A year of rentals that ended, as SQL makes it: rows at the rates of a fleet whose rentals live ten hours.

import type { TestApp } from '../app.ts'
import { type Copy, copyRows } from './copies.ts'
import { type FilledData, firstCopyId, machines, partitionStatements } from './data-shapes.ts'
import { withSession } from './sessions.ts'

/** Rentals that end each day, for each instance that runs. */
const endedPerDay = 2.4
/** The ids of the first rental of the year. Those of the fleet are lower. */
const firstId = 10_000_000
const [days, keptDays] = [365, 90]

/** Adds the year of a fleet with this many running instances, and its statistics as autovacuum leaves them. */
export async function addYear(app: TestApp, running: number, { source }: FilledData): Promise<void> {
  const now = `'${app.clock.now().toISOString()}'::timestamptz`
  await withSession(app.database.url, async session => {
    await session.query('BEGIN')
    await session.query('SET LOCAL session_replication_role = replica')
    for (const part of [3, 4]) for (const text of partitionStatements(part)) await session.query(text)
    for (const copy of copiesOfYear(Math.round(running * endedPerDay * days), now, source))
      await copyRows(session, copy)
    await session.query('COMMIT')
    await session.query('VACUUM ANALYZE')
    // Autovacuum makes statistics of partitions, and none of the whole table.
    await session.query(
      `DELETE FROM pg_statistic WHERE starelid IN ('events'::regclass, 'webhook_deliveries'::regclass)`,
    )
  })
}

function copiesOfYear(count: number, now: string, source: FilledData['source']): (string | Copy)[] {
  const rental = { account_id: 'r.account_id', machine_id: 'r.machine_id' }
  const ofSource = `s.instance_id = ${source.instanceId}`
  const own = (id: string) => `CASE WHEN r.account_id = ${source.accountId} THEN ${id} ELSE r.account_id END`
  const meterId = (kind: string) => `4 * r.id + CASE WHEN ${kind} = 'gpu' THEN 0 ELSE 1 END`
  /** The partition of its time: the fleet has the first three. */
  const part = `width_bucket(extract(epoch FROM ended_at - (${now} - interval '${keptDays} days')), 0, ${keptDays * 86_400}, 5)`
  return [
    `CREATE TEMP TABLE year ON COMMIT DROP AS SELECT ${firstId} + n AS id,
       accounts.ids[1 + n % cardinality(accounts.ids)] AS account_id, ${firstCopyId} + (7919 * n::bigint % ${machines})::int AS machine_id,
       ${now} - (${count} - n + 1) * interval '${days} days' / ${count} AS ended_at
     FROM generate_series(1, ${count}) n, (SELECT array_agg(DISTINCT account_id) AS ids FROM instances) accounts`,
    'ANALYZE year',
    {
      ...{ table: 'offers', from: 'year r', where: `s.id = ${source.offerId}` },
      changes: { id: 'r.id', machine_id: 'r.machine_id', withdrawn_at: `r.ended_at - interval '10 hours'` },
    },
    {
      ...{ table: 'instances', from: 'year r', where: `s.id = ${source.instanceId}` },
      changes: {
        ...{ ...rental, id: 'r.id', offer_id: 'r.id', label: `'job ' || r.id % 100` },
        ...{ api_key_id: own('s.api_key_id'), template_id: own('s.template_id'), policy_due_at: 'NULL' },
        ...{ created_at: `r.ended_at - interval '10 hours'`, destroyed_at: 'r.ended_at', removed_at: 'r.ended_at' },
        ...{ target_state: `'stopped'`, status: `'stopped'`, status_changed_at: 'r.ended_at' },
      },
    },
    {
      ...{ table: 'instance_looks', from: 'year r', where: ofSource },
      changes: { instance_id: 'r.id', account_id: 'r.account_id', due_at: 'NULL', seen_at: 'r.ended_at' },
    },
    {
      ...{ table: 'instance_ssh_keys', from: 'year r' },
      where: `${ofSource} AND s.ssh_key_id = (SELECT min(id) FROM ssh_keys WHERE account_id = ${source.accountId})`,
      changes: { instance_id: 'r.id', ssh_key_id: own('s.ssh_key_id') },
    },
    {
      ...{ table: 'meters', from: 'year r', where: ofSource },
      changes: {
        ...{ id: meterId('s.kind'), account_id: 'r.account_id', instance_id: 'r.id', api_key_id: own('s.api_key_id') },
        ...{ rate_nanos: '0', since: 'r.ended_at', began_at: `r.ended_at - interval '10 hours'`, ends_at: 'NULL' },
      },
    },
    // A GPU is charged twice in most rentals, because something about it changed.
    `INSERT INTO ledger_entries (account_id, kind, amount_nanos, meter_id, period_start, period_end, rate_nanos, carried,
       posted_at, balance_after_nanos)
     SELECT m.account_id, m.kind::text::ledger_kind, -5000, m.id, m.since - n * interval '5 hours',
       m.since - (n - 1) * interval '5 hours', 1000, 0, m.since - (n - 1) * interval '5 hours', a.posted_nanos
     FROM meters m JOIN accounts a ON a.id = m.account_id, generate_series(1, 2) n
     WHERE m.id >= ${4 * firstId} AND (n = 1 OR m.kind = 'gpu' AND m.id % 24 > 0) ORDER BY m.since, n`,
    {
      ...{
        table: 'events',
        from: `(SELECT *, ${part} - 1 AS part FROM year WHERE ended_at > ${now} - interval '${keptDays} days') r`,
      },
      where: `${ofSource} AND s.id IN (SELECT id FROM events s WHERE ${ofSource} ORDER BY id LIMIT 8)`,
      changes: {
        ...{
          id: '300000000 + 10 * r.id + s.id % 10 + part * 1000000000::bigint',
          account_id: 'r.account_id',
          instance_id: 'r.id',
        },
        ...{ subject_id: 'r.id', xid: '(3 + (r.id - 10000000) / 2000)::text::xid8', created_at: 'r.ended_at' },
        api_key_id: `CASE WHEN s.api_key_id IS NOT NULL THEN ${own('s.api_key_id')} END`,
      },
    },
    `INSERT INTO webhook_deliveries (webhook_id, event_id, attempts, attempted_at, delivered_at, response_status)
     SELECT w.id, e.id, 1, e.created_at, e.created_at, 200 FROM events e JOIN webhooks w ON w.account_id = e.account_id
     WHERE e.instance_id >= ${firstId}`,
  ]
}

/** New rows get ids above those of the copies, in a fleet with a year and in one without. */
export async function skipIds(app: TestApp): Promise<void> {
  for (const [sequence, id] of [
    ['instances_id_seq', 2 * firstId],
    ['offers_id_seq', 2 * firstId],
    ['meters_id_seq', 8 * firstId],
  ])
    await app.sql(`SELECT setval('${sequence}', ${id})`)
}
