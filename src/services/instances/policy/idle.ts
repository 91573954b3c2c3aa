// Since when the GPUs of instances are idle that are to stop then. What is not known is not idle.

import { Prisma } from '../../../database/generated/client.ts'
import { int8 } from '../../../database/row-types.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import type { DataDeps } from '../../deps.ts'
import { lockInstances } from '../lock.ts'

const { sql } = Prisma

/** With a longer gap between two samples, nobody knows what the GPUs did meanwhile. */
const gapSql = sql`interval '60 seconds'`

/** For how many seconds an instance `i` is idle, since it runs. Null if its last sample is too old, or was not idle. */
export function idledSql(nowSql: Prisma.Sql): Prisma.Sql {
  return sql`(SELECT floor(extract(epoch FROM d.until - greatest(d.since, i.status_changed_at)))::int FROM idle_instances d
    WHERE d.instance_id = i.id AND d.until > ${nowSql} - ${gapSql})`
}

/**
 * Notes which instances were idle. `sampled` is a query, which may insert, of `instance_id`, `at` and `gpu_utilization`. Makes
 * the policies due of those that were idle for long enough.
 */
export async function noteIdle({ database }: DataDeps, sampled: Prisma.Sql): Promise<void> {
  const due = await database.query(
    sql`WITH sampled AS (${sampled}),
      idle AS (
        SELECT s.instance_id, s.at, i.status_changed_at, i.idle_seconds
        FROM sampled s JOIN instances i ON i.id = s.instance_id AND i.idle_seconds IS NOT NULL
        WHERE cardinality(s.gpu_utilization) >= i.num_gpus
          AND (SELECT bool_and(coalesce(load < i.idle_gpu_percent, false)) FROM unnest(s.gpu_utilization) load)
      ),
      busy AS (
        DELETE FROM idle_instances d USING sampled s
        WHERE d.instance_id = s.instance_id AND s.instance_id NOT IN (SELECT instance_id FROM idle)
      ),
      noted AS (
        INSERT INTO idle_instances AS d (instance_id, since, until) SELECT instance_id, at, at FROM idle ORDER BY instance_id
        ON CONFLICT (instance_id) DO UPDATE SET until = excluded.until,
          since = CASE WHEN d.until >= excluded.until - ${gapSql} THEN d.since ELSE excluded.since END
        RETURNING instance_id, since, until
      )
      SELECT n.instance_id AS id FROM noted n JOIN idle i ON i.instance_id = n.instance_id
      WHERE extract(epoch FROM n.until - greatest(n.since, i.status_changed_at)) >= i.idle_seconds`,
    { id: int8 },
  )
  if (due.length > 0)
    await makePoliciesDue(
      { database },
      due.map(({ id }) => id),
    )
}

async function makePoliciesDue({ database }: DataDeps, ids: readonly bigint[]): Promise<void> {
  await transaction(database, async tx => {
    await lockInstances(tx, ids)
    const changed = await tx.execute(sql`
      UPDATE instances SET policy_due_at = ${tx.at} WHERE id = ANY(${ids.map(String)}::bigint[]) AND target_state = 'running'
        AND destroyed_at IS NULL AND (policy_due_at IS NULL OR policy_due_at > ${tx.at})`)
    if (changed > 0) tx.notifyAfterCommit('policies')
  })
}

export async function forgetIdle(tx: Transaction, instanceId: bigint): Promise<void> {
  await tx.execute(sql`DELETE FROM idle_instances WHERE instance_id = ${instanceId}`)
}
