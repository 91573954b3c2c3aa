// SQL fragments on instances with the alias `i`.

import { Prisma } from '../../database/generated/client.ts'
import type { Actor } from '../../domain/actor.ts'
import { finalStatuses } from '../../domain/instances/states.ts'
import { claimEventKinds } from '../../domain/instances/watch.ts'

/** Conditions for instances of an account that are not destroyed. */
export function livingInstancesSql({ accountId }: Pick<Actor, 'accountId'>): Prisma.Sql[] {
  return [Prisma.sql`i.account_id = ${accountId}`, Prisma.sql`i.destroyed_at IS NULL`]
}

/** The same rule as `wantsGpus` in domain/instances/instances.ts. */
export const wantsGpusSql = Prisma.sql`i.target_state = 'running' AND i.destroyed_at IS NULL
  AND i.status <> ALL (${finalStatuses}::instance_status[])`

/** Whether an instance has a policy. After a change of such an instance, its next action must be computed again. */
export const hasPolicySql = Prisma.sql`num_nonnulls(stop_at, stop_at_cost_nanos, destroy_at, destroy_stopped_ms,
  idle_seconds, replace_seconds) > 0`

// For EXISTS, PostgreSQL may read all GPUs or meters into a hash table first. A scalar subquery is an index lookup in
// every plan.

/** Whether the market gave the instance its GPUs. */
export const holdsGpusSql = Prisma.sql`((
  SELECT 1 FROM gpus g WHERE g.machine_id = i.machine_id AND g.holder_id = i.id LIMIT 1) IS NOT NULL)`

/** Whether the instance's container may be using GPUs. */
export const occupiesGpusSql = Prisma.sql`((
  SELECT 1 FROM gpus g WHERE g.machine_id = i.machine_id AND g.occupant_id = i.id LIMIT 1) IS NOT NULL)`

/** Whether its machine is simulated: the machine has no container engine. */
export const isSimulatedSql = Prisma.sql`((SELECT 1 FROM engines en WHERE en.machine_id = i.machine_id) IS NULL)`

/** Whether the instance's GPUs are charged now. */
export const isChargedSql = Prisma.sql`((
  SELECT 1 FROM meters m WHERE m.instance_id = i.id AND m.kind = 'gpu' AND m.rate_nanos > 0
  AND (SELECT min(e.id) FROM meter_ends e WHERE e.meter_id = m.id) IS NULL LIMIT 1) IS NOT NULL)`

/**
 * Whether the instance wants its GPUs and does not run yet. Once a pass has found it waiting for GPUs (`scheduling`,
 * holding none), it no longer counts.
 */
export const isLoadingSql = Prisma.sql`${wantsGpusSql} AND i.status <> 'running' AND (i.status <> 'scheduling' OR ${holdsGpusSql})`

/** The instance that was rented in place of the instance. */
export const replacedByIdSql = Prisma.sql`(SELECT r.id FROM instances r WHERE r.replaces_id = i.id)`

/** Whether another instance of the same account holds GPUs of the instance's block. */
export const lostGpusToOwnAccountSql = Prisma.sql`((
  SELECT 1 FROM gpus g JOIN instances rival ON rival.id = g.holder_id
  WHERE g.machine_id = i.machine_id AND g.index >= i.first_gpu AND g.index < i.first_gpu + i.num_gpus
  AND rival.id <> i.id AND rival.account_id = i.account_id LIMIT 1) IS NOT NULL)`

/**
 * Whether an event `e` may change which bid wins the GPUs of a machine. An instance gives up its claim with a final status;
 * other statuses do not change claims.
 */
export const changesClaimSql = Prisma.sql`(e.kind = ANY(${claimEventKinds}::text[])
  AND (e.kind <> 'INSTANCE_STATUS_CHANGED' OR e.after->>'status' = ANY(${finalStatuses}::text[])))`

/** Joins the living interruptible instances `i` on the machine of the instance that an event `e` is about. */
export const rivalsOfEventSql = Prisma.sql`JOIN instances rival ON rival.id = e.instance_id
  JOIN instances i ON i.machine_id = rival.machine_id AND i.interruptible AND i.destroyed_at IS NULL`
