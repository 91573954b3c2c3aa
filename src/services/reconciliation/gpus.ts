// Marks GPUs as in use before containers start, and as free once they are down.

import type { Database } from '../../database/client.ts'
import { Prisma } from '../../database/generated/client.ts'
import { bool, int8, nullable } from '../../database/row-types.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { BatchWork } from '../batches.ts'
import { lockFreeMachines, lockMachine } from '../machines/lock.ts'
import type { LeasedFinding } from './finding.ts'
import { type InstanceLease, lockFreeLeases, lockIfLeased } from './leases.ts'

const { sql } = Prisma

export function occupyGpusWork(database: Database): BatchWork<InstanceLease, boolean> {
  return {
    accountOf: ({ accountId }) => accountId,
    many: leases =>
      transaction(database, async tx => {
        const machines = await lockFreeMachines(tx, [...new Set(leases.map(({ machineId }) => machineId))])
        const machineIds = new Set(machines.map(({ id }) => id))
        const locked = await lockFreeLeases(
          tx,
          leases.filter(({ machineId }) => machineIds.has(machineId)),
        )
        const occupied = await occupy(tx, locked)
        return new Map(locked.map(lease => [lease, occupied.has(lease.instanceId)]))
      }),
    one: lease =>
      transaction(database, async tx => {
        await lockMachine(tx, lease.machineId)
        if (!(await lockIfLeased(tx, lease))) return false
        return (await occupy(tx, [lease])).has(lease.instanceId)
      }),
  }
}

/** Returns the instances whose GPUs are all free. Their machines and leases must be locked. */
async function occupy(tx: Transaction, leases: readonly InstanceLease[]): Promise<Set<bigint>> {
  const statement = sql`
    WITH asked AS MATERIALIZED (
      SELECT g.machine_id, g.holder_id, bool_and(g.occupant_id IS NULL OR g.occupant_id = g.holder_id) AS are_free
      FROM unnest(${leases.map(({ instanceId }) => String(instanceId))}::bigint[], ${leases.map(({ machineId }) => machineId)}::int[])
        AS lease (instance_id, machine_id)
      JOIN gpus g ON g.machine_id = lease.machine_id AND g.holder_id = lease.instance_id GROUP BY g.machine_id, g.holder_id
    )
    UPDATE gpus SET occupant_id = asked.holder_id FROM asked
    WHERE asked.are_free AND gpus.machine_id = asked.machine_id AND gpus.holder_id = asked.holder_id RETURNING asked.holder_id`
  return new Set((await tx.query(statement, { holderId: int8 })).map(({ holderId }) => holderId))
}

/**
 * The instances that wait for GPUs which findings are about to free. The machines must be locked. The ids come as an array: with
 * OR, or with IN, PostgreSQL would scan all GPUs.
 */
export async function findWaitingInstances(
  tx: Transaction,
  findings: readonly LeasedFinding[],
): Promise<{ occupantId: bigint; waitingId: bigint }[]> {
  const leaving = leavingOf(findings)
  if (leaving.length === 0) return []
  return await tx.query(
    sql`SELECT DISTINCT occupant_id, holder_id AS waiting_id FROM gpus
      WHERE machine_id = ANY(${leaving.map(({ machineId }) => machineId)}::int[])
      AND occupant_id = ANY(${leaving.map(({ instanceId }) => String(instanceId))}::bigint[]) AND holder_id <> occupant_id`,
    { occupantId: int8, waitingId: int8 },
  )
}

/** Marks the GPUs as free that containers no longer use. Returns the instances that wait to use them. */
export async function vacateGpus(tx: Transaction, findings: readonly LeasedFinding[]): Promise<bigint[]> {
  const leaving = leavingOf(findings)
  if (leaving.length === 0) return []
  const freed = await tx.query(
    sql`UPDATE gpus SET occupant_id = NULL FROM gpus old
      WHERE gpus.machine_id = ANY(${leaving.map(({ machineId }) => machineId)}::int[])
      AND gpus.occupant_id = ANY(${leaving.map(({ instanceId }) => String(instanceId))}::bigint[])
      AND old.machine_id = gpus.machine_id AND old.index = gpus.index
      RETURNING old.holder_id AS waiting_id, coalesce(old.holder_id <> old.occupant_id, false) AS is_waiting`,
    { waitingId: nullable(int8), isWaiting: bool },
  )
  return [...new Set(freed.flatMap(({ waitingId, isWaiting }) => (waitingId !== null && isWaiting ? [waitingId] : [])))]
}

const leavingOf = (findings: readonly LeasedFinding[]) =>
  findings.filter(({ finding }) => !finding.usesGpus).map(({ lease }) => lease)
