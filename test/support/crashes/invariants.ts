// Invariants that hold when everything has come to rest after a crash test.

import { expect } from 'vitest'
import type { Reader } from '../events/readers.ts'
import type { CommandRecord } from '../instances/renters.ts'

export type RunSql = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>

/** Instances that still need a pass of the reconciler. */
export async function findUnsettledInstances(sql: RunSql): Promise<Record<string, unknown>[]> {
  return await sql(`
    SELECT i.id, i.status, i.reason_code, i.started_at, i.target_state, l.due_at, l.leased_until, l.attempts, i.destroyed_at
    FROM instances i JOIN instance_looks l ON l.instance_id = i.id LEFT JOIN simulated_containers c ON c.instance_id = i.id
    WHERE l.due_at <= now() OR l.leased_until IS NOT NULL OR (i.destroyed_at IS NOT NULL AND i.removed_at IS NULL)
    OR (i.destroyed_at IS NULL AND (i.status IN ('loading', 'stopping')
      OR (i.status = 'running' AND c.ends_at IS NOT NULL)
      OR (i.status = 'scheduling' AND EXISTS (SELECT FROM gpus g WHERE g.holder_id = i.id))))`)
}

/** All gateways are dead, so no instance may be leased, and none may be overdue. */
export async function expectNoLeaseOrDueInstance(sql: RunSql, restedAt: Date): Promise<void> {
  const unfinished = await sql(
    'SELECT instance_id, due_at, leased_until FROM instance_looks WHERE leased_until IS NOT NULL OR due_at <= $1',
    [restedAt],
  )
  expect(unfinished, 'instances that are leased or overdue').toEqual([])
}

/** The simulated machines run exactly the containers that should run. */
export async function expectMachinesMatchDesired(sql: RunSql): Promise<void> {
  const isUp = `c.up_at <= now() AND (c.down_at IS NULL OR c.down_at > now())
    AND NOT (c.exit_code IS NOT NULL AND (c.ends_at IS NULL OR c.ends_at <= now()))`
  const mismatched = await sql(`
    SELECT i.id, i.status, i.destroyed_at, c.up_at, c.down_at, c.exit_code, c.ends_at
    FROM instances i LEFT JOIN simulated_containers c ON c.instance_id = i.id
    WHERE (i.destroyed_at IS NULL AND i.status = 'running') <> coalesce(${isUp}, false)`)
  expect(mismatched, 'instances whose container and status differ').toEqual([])
  const leftovers = await sql(`
    SELECT i.id, i.removed_at, c.instance_id AS container, p.host_port, g.index AS gpu FROM instances i
    LEFT JOIN simulated_containers c ON c.instance_id = i.id LEFT JOIN port_bindings p ON p.instance_id = i.id
    LEFT JOIN gpus g ON i.id IN (g.holder_id, g.occupant_id)
    WHERE i.destroyed_at IS NOT NULL
    AND (i.removed_at IS NULL OR NOT (c.instance_id, p.instance_id, g.machine_id) IS NULL)`)
  expect(leftovers, 'remains of destroyed instances').toEqual([])
  const strays = await sql(
    'SELECT instance_id FROM simulated_containers WHERE instance_id NOT IN (SELECT id FROM instances)',
  )
  expect(strays, 'containers without an instance').toEqual([])
}

/** Every idempotency key made one instance or none, as the answer to its sender said. */
export async function expectOneRentalPerKey(sql: RunSql, commands: CommandRecord[]): Promise<void> {
  const rows = await sql('SELECT account_id, idempotency_key, id FROM instances')
  const created = rows.map(row => `${row['account_id']}/${row['idempotency_key']}: ${row['id']}`)
  const confirmed = commands.filter(({ kind, done }) => kind === 'INSTANCE_CREATED' && done === 'yes')
  expect(created.sort(), 'instances, compared with the answers to renters').toEqual(
    confirmed.map(({ accountId, mark, instanceId }) => `${accountId}/${mark}: ${instanceId}`).sort(),
  )
}

/** Every confirmed command took effect once, and no refused command did. */
export async function expectCommandsOnce(sql: RunSql, commands: CommandRecord[]): Promise<void> {
  const rows = await sql(
    `
    SELECT e.instance_id, e.kind, CASE e.kind WHEN 'INSTANCE_CREATED' THEN i.idempotency_key
      WHEN 'INSTANCE_DESTROYED' THEN '' ELSE coalesce(e.after->>'label', e.after->>'gpuPriceNanos') END AS mark
    FROM events e JOIN instances i ON i.id = e.instance_id WHERE e.kind = ANY($1) ORDER BY e.id`,
    [['INSTANCE_CREATED', 'INSTANCE_LABEL_CHANGED', 'INSTANCE_BID_CHANGED', 'INSTANCE_DESTROYED']],
  )
  const happened = rows.map(({ instance_id, kind, mark }) => `${instance_id} ${kind} ${mark}`)
  const nameOf = ({ instanceId, kind, mark }: CommandRecord) => `${instanceId} ${kind} ${mark}`
  const uncertain = new Set(commands.filter(({ done }) => done === 'perhaps').map(nameOf))
  // A command with an uncertain outcome took effect at most once.
  const seen = new Set<string>()
  const certain = happened.filter(name => {
    if (!uncertain.has(name) || seen.has(name)) return true
    seen.add(name)
    return false
  })
  const done = commands.filter(command => command.done === 'yes').map(nameOf)
  expect(certain.toSorted(), 'events, compared with the answers to renters').toEqual(done.toSorted())
}

/**
 * The last event of a field has the current value of the instance, and each event begins where the one before ended.
 */
export async function expectConsistentEvents(sql: RunSql): Promise<void> {
  const broken = await sql(`
    WITH told AS (
      SELECT e.instance_id, e.id, f.key, e.before->>f.key AS before, f.value AS after
      FROM events e, jsonb_each_text(e.after::jsonb) f
      WHERE e.instance_id IS NOT NULL AND f.key IN ('targetState', 'label', 'gpuPriceNanos', 'status')
    ), chained AS (
      SELECT *, lag(after) OVER chain AS last, lead(id) OVER chain IS NULL AS newest
      FROM told WINDOW chain AS (PARTITION BY instance_id, key ORDER BY id)
    ) SELECT c.* FROM chained c JOIN instances i ON i.id = c.instance_id
    WHERE (last IS NOT NULL AND before IS DISTINCT FROM last) OR (newest AND after IS DISTINCT FROM CASE key
      WHEN 'targetState' THEN i.target_state::text WHEN 'label' THEN i.label
      WHEN 'gpuPriceNanos' THEN i.gpu_price_nanos::text ELSE i.status::text END)`)
  expect(broken, 'events that contradict each other or the instance').toEqual([])
}

/** A reader received every later event of its account, in order, and none twice. */
export async function expectEveryEventDelivered(
  sql: RunSql,
  { accountId, after, ids, transport }: Reader,
): Promise<void> {
  const rows = await sql(
    `SELECT e.id FROM events e JOIN events began ON began.id = $2
    WHERE e.account_id = $1 AND (e.xid, e.id) > (began.xid, began.id) ORDER BY e.xid, e.id`,
    [accountId, after],
  )
  const written = rows.map(({ id }) => BigInt(id as string))
  const delivered = new Set(ids)
  const about = `of the account ${accountId} by ${transport}`
  expect(
    written.filter(id => !delivered.has(id)),
    `events ${about} that were not delivered`,
  ).toEqual([])
  expect(
    ids.filter((id, place) => ids.indexOf(id) !== place),
    `events ${about} that were delivered twice`,
  ).toEqual([])
  expect(ids, `events ${about} in order`).toEqual(written)
}
