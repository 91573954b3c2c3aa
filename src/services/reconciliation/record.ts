// Records the finding of a pass in one transaction.

import { Prisma } from '../../database/generated/client.ts'
import { int4, nullable, timestamptz } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import { systemActor } from '../../domain/events/actor.ts'
import { isFinal } from '../../domain/instances/states.ts'
import type { Machine } from '../../domain/machines/machines.ts'
import { lockAccount } from '../billing/balance.ts'
import { recordEvents } from '../events/events.ts'
import { countFailedStart, hasFailedToStart } from '../instances/start-backoff.ts'
import { changeFreeCapacity, lockMachine, updateOffers } from '../machines/market.ts'
import { releaseVolumes } from '../volumes/rent.ts'
import type { Finding } from './finding.ts'
import { type InstanceLease, lockIfLeased } from './leases.ts'
import { updateMeters } from './meters.ts'

const { sql } = Prisma

/** Whether the finding suspended new rentals on the machine, or allowed them again. */
export type SuspensionChange = 'suspended' | 'cleared'

export async function recordFinding(
  tx: Transaction,
  lease: InstanceLease,
  finding: Finding,
): Promise<SuspensionChange | undefined> {
  const machine = await lockMachine(tx, lease.machineId)
  // After the machine's lock, which moves `tx.at`.
  const { at } = tx
  if (!finding.usesGpus) await lockWaitingInstances(tx, lease)
  if (!machine || !(await lockIfLeased(tx, lease))) return undefined
  const vacated = !finding.usesGpus && (await vacateGpus(tx, lease, at))
  const machineAfter = finding.gone ? await releaseResources(tx, lease, machine, at) : machine
  // An instance that just ended gets another pass at once: its container may still run, and the market must grant its GPUs
  // to others.
  const ended = isFinal(finding.status) && !isFinal(lease.status)
  const dueAt = ended ? at : finding.dueAt
  // `seen_at` too: an outdated finding may have seen a container that a command has replaced since.
  const statement = sql`
    UPDATE instances SET leased_until = NULL, attempts = ${finding.needsRetry ? lease.attempts + 1 : 0},
      seen_at = CASE WHEN generation = ${lease.generation}
        THEN coalesce(${finding.seenAt}::timestamptz, seen_at) ELSE seen_at END,
      unreachable_at = CASE WHEN ${finding.answered} THEN NULL ELSE coalesce(unreachable_at, ${at}) END,
      started_at = CASE WHEN ${finding.ran} THEN coalesce(started_at, ${at}) ELSE started_at END,
      restart = CASE WHEN generation = ${lease.generation} AND ${finding.restart !== undefined}
        THEN ${finding.restart ?? null}::restart ELSE restart END,
      due_at = CASE WHEN generation = ${lease.generation} THEN ${dueAt}::timestamptz ELSE due_at END
    WHERE id = ${lease.instanceId} RETURNING generation`
  const [current] = await tx.query(statement, { generation: int4 })
  // Another instance may be due now, or this instance again.
  if (vacated || ended || current?.generation !== lease.generation) tx.notifyAfterCommit()
  if (current?.generation !== lease.generation) return undefined
  // An ended instance keeps the reason of its end.
  if (!isFinal(lease.status)) await writeStatus(tx, lease, finding, at)
  const suspension = await updateSuspension(tx, lease, finding, machineAfter, at)
  await updateMeters(tx, lease, finding, at)
  if (await hasFailedToStart(tx, lease, finding)) {
    await countFailedStart(tx, await lockAccount(tx, lease.accountId, at))
  }
  return suspension
}

/** A machine takes no new rentals until it has confirmed every overdue stop of its instances. */
async function updateSuspension(
  tx: Transaction,
  { instanceId, unconfirmedAt: before }: InstanceLease,
  { unconfirmed }: Finding,
  machine: Machine,
  at: Date,
): Promise<SuspensionChange | undefined> {
  if (unconfirmed === (before !== null)) return undefined
  await tx.execute(sql`UPDATE instances SET unconfirmed_at = ${unconfirmed ? at : null} WHERE id = ${instanceId}`)
  const [oldest] = await tx.query(
    sql`SELECT min(unconfirmed_at) AS unconfirmed_at FROM instances
      WHERE machine_id = ${machine.id} AND unconfirmed_at IS NOT NULL`,
    { unconfirmedAt: nullable(timestamptz) },
  )
  const unconfirmedAt = oldest?.unconfirmedAt ?? null
  if ((unconfirmedAt === null) === (machine.unconfirmedAt === null)) return undefined
  await tx.execute(sql`UPDATE machines SET unconfirmed_at = ${unconfirmedAt} WHERE id = ${machine.id}`)
  await updateOffers(tx, { ...machine, unconfirmedAt }, at)
  return unconfirmedAt === null ? 'cleared' : 'suspended'
}

/**
 * Locks the instance and those that wait for its GPUs. Every transaction locks instances in id order. The ids come as
 * an array: with OR, or with IN, PostgreSQL would scan all instances.
 */
async function lockWaitingInstances(tx: Transaction, { instanceId, machineId }: InstanceLease): Promise<void> {
  await tx.execute(sql`
    SELECT id FROM instances WHERE id = ANY(ARRAY(
      SELECT holder_id FROM gpus WHERE machine_id = ${machineId} AND occupant_id = ${instanceId}
      UNION ALL SELECT ${instanceId}::bigint
    )) ORDER BY id FOR NO KEY UPDATE`)
}

/** Marks the GPUs as free, and makes the instances that wait to use them due. Returns true if a GPU was in use. */
async function vacateGpus(tx: Transaction, { instanceId, machineId }: InstanceLease, at: Date): Promise<boolean> {
  const freed = await tx.query(
    sql`UPDATE gpus SET occupant_id = NULL WHERE machine_id = ${machineId} AND occupant_id = ${instanceId} RETURNING index`,
    { index: int4 },
  )
  if (freed.length === 0) return false
  await tx.execute(sql`
    UPDATE instances SET generation = generation + 1, due_at = ${at} WHERE id IN (
      SELECT holder_id FROM gpus WHERE machine_id = ${machineId} AND holder_id <> ${instanceId}
      AND index = ANY(${freed.map(({ index }) => index)}::int[])
    )`)
  return true
}

/**
 * Returns disk and ports to the machine, which may make offers rentable. Releases the volumes, and deletes the secrets,
 * because the container never starts again.
 */
async function releaseResources(
  tx: Transaction,
  { instanceId, accountId }: InstanceLease,
  machine: Machine,
  at: Date,
): Promise<Machine> {
  const [removed] = await tx.query(
    sql`UPDATE instances SET removed_at = ${at}, registry_login = NULL, secret_env = NULL
      WHERE id = ${instanceId} AND removed_at IS NULL RETURNING disk_mb`,
    { diskMb: int4 },
  )
  if (!removed) return machine
  const ports = await tx.execute(sql`DELETE FROM port_bindings WHERE instance_id = ${instanceId}`)
  await releaseVolumes(tx, instanceId, at)
  const freed = { ...removed, ports }
  const machineAfter = await changeFreeCapacity(tx, machine, freed)
  await updateOffers(tx, machineAfter, at)
  const event = {
    kind: 'INSTANCE_REMOVED' as const,
    accountId,
    actor: systemActor,
    instanceId,
    reason: 'CONTAINER_GONE' as const,
  }
  await recordEvents(tx, [{ ...event, before: freed, after: { diskMb: 0, ports: 0 } }], at)
  return machineAfter
}

/** Also makes the policy due: the stopped time may begin or end now, so its next action must be computed again. */
async function writeStatus(
  tx: Transaction,
  lease: InstanceLease,
  { status, reason }: Finding,
  at: Date,
): Promise<void> {
  const { instanceId, accountId } = lease
  const written = await tx.execute(sql`
    UPDATE instances SET status = ${status}::instance_status, reason_code = ${reason?.code ?? null},
      reason_message = ${reason?.message ?? null}, exit_code = ${reason?.exitCode ?? null},
      status_changed_at = CASE WHEN status = ${status}::instance_status THEN status_changed_at ELSE ${at} END,
      policy_due_at = CASE WHEN destroy_stopped_ms IS NULL THEN policy_due_at ELSE ${at} END
    WHERE id = ${instanceId} AND (status <> ${status}::instance_status OR reason_code IS DISTINCT FROM ${reason?.code ?? null})
    AND destroyed_at IS NULL`)
  if (written === 0) return
  const event = { kind: 'INSTANCE_STATUS_CHANGED' as const, accountId, actor: systemActor, instanceId }
  const [before, after] = [{ status: lease.status }, { status, message: reason?.message, exitCode: reason?.exitCode }]
  await recordEvents(tx, [{ ...event, before, after, ...(reason && { reason: reason.code }) }], at)
}
