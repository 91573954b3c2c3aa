// The database's side of reconciling: who looks at which instance, and what becomes of what was seen.

import { Prisma } from '../../database/generated/client.ts'
import { transaction } from '../../database/transaction.ts'
import { canChangeSshKeys } from '../../domain/accounts/ssh-keys.ts'
import type { ContainerSpec } from '../../domain/instances/containers.ts'
import type { LaunchConfig } from '../../domain/instances/instances.ts'
import type { Restart } from '../../domain/instances/states.ts'
import type { Deps } from '../deps.ts'
import { holdsGpusSql, isChargedSql } from '../instances/sql.ts'
import { lockMachine, updateMarket } from '../machines/market.ts'
import { instanceSshKeysSql, loadContainerSpec } from './container-spec.ts'
import { createFairClaim } from './fair-claim.ts'
import type { Finding } from './finding.ts'
import { type InstanceLease, lockIfLeased } from './leases.ts'
import { recordFinding, type SuspensionChange } from './record.ts'

const { sql } = Prisma

export function reconciliationServices({ database, secrets }: Deps) {
  const claimFairly = createFairClaim(database)
  return {
    /**
     * Takes instances that are due, in turns between accounts; `busy` are those that this gateway has now. What one
     * gateway takes no other has.
     */
    async claim(limit: number, busy: readonly InstanceLease[] = []): Promise<InstanceLease[]> {
      const { ids: taken, leasedUntil } = await claimFairly({ limit, busy })
      if (taken.length === 0) return []
      // Asked afterwards and at once: a statement that takes rows sees them as they are when it takes them, but
      // everything beside them, such as the GPUs, as it was when it began.
      const rows = await database.rows(sql`
        SELECT i.id, i.account_id, i.machine_id, i.generation, i.attempts, i.target_state, i.target_reason, i.status, i.interruptible,
          ${holdsGpusSql},
          i.started_at IS NOT NULL, i.destroyed_at IS NOT NULL, i.vm, i.launch ->> 'mode', ${instanceSshKeysSql},
          coalesce(i.reason_code = 'MACHINE_ERROR', false), ${isChargedSql}, i.restart,
          i.destroyed_at, i.status_changed_at, i.unreachable_at, i.unconfirmed_at, i.seen_at
        FROM instances i WHERE i.id = ANY(${taken.map(String)}::bigint[]) AND i.leased_until = ${leasedUntil}`)
      return rows.map(row => {
        const [instanceId, accountId, machineId, generation, attempts, ...standing] = row
        const [targetState, targetReason, status, interruptible, ...rest] = standing
        const [granted, hasRun, destroyed, vm, mode, keys, refused, charged, restart, ...instants] = rest as [
          ...[boolean, boolean, boolean, boolean],
          LaunchConfig['mode'],
          string[],
          ...[boolean, boolean],
          Restart | null,
          ...(Date | null)[],
        ]
        const [destroyedAt, statusChangedAt, unreachableAt, unconfirmedAt, seenAt] = instants
        const sshKeys = canChangeSshKeys({ vm, mode }) ? keys : null
        const facts = { instanceId, accountId, machineId, leasedUntil, generation, attempts, status }
        const target = { targetState, targetReason }
        const times = { destroyedAt, statusChangedAt, unreachableAt, unconfirmedAt, seenAt }
        return {
          ...facts,
          ...target,
          interruptible,
          granted,
          charged,
          hasRun,
          destroyed,
          sshKeys,
          refused,
          restart,
          ...times,
        } as InstanceLease
      })
    },

    loadSpec: ({ instanceId }: InstanceLease): Promise<ContainerSpec> =>
      loadContainerSpec(database, secrets, instanceId),

    /**
     * Marks the GPUs as in use, before the container starts on them. False while another's container may still run on
     * one of them, or when the market has given them to another since.
     */
    async occupyGpus(lease: InstanceLease): Promise<boolean> {
      return await transaction(database, async tx => {
        await lockMachine(tx, lease.machineId)
        if (!(await lockIfLeased(tx, lease))) return false
        const rows = await tx.rows(sql`
          SELECT bool_and(occupant_id IS NULL OR occupant_id = ${lease.instanceId}) FROM gpus
          WHERE machine_id = ${lease.machineId} AND holder_id = ${lease.instanceId}`)
        if (rows[0]?.[0] !== true) return false
        await tx.rows(sql`
          UPDATE gpus SET occupant_id = ${lease.instanceId}
          WHERE machine_id = ${lease.machineId} AND holder_id = ${lease.instanceId}`)
        return true
      })
    },

    /**
     * Grants what should have been granted: a command that died between its wish and the market is made good here. True
     * when that changed what is wished of this instance; it was given back then, to be looked at anew.
     */
    async updateMarket({ instanceId, machineId, leasedUntil, generation }: InstanceLease): Promise<boolean> {
      await transaction(database, async tx => {
        const machine = await lockMachine(tx, machineId)
        if (machine) await updateMarket(tx, machine, tx.at)
      })
      // On its own, since the market has taken other instances: nobody takes one of a lower id after those.
      const changed = await database.rows(sql`
        UPDATE instances SET leased_until = NULL
        WHERE id = ${instanceId} AND leased_until = ${leasedUntil} AND generation <> ${generation} RETURNING id`)
      return changed.length > 0
    },

    /** Writes what was seen, and gives the instance back. What was seen under an older wish changes no status. */
    async record(lease: InstanceLease, finding: Finding): Promise<SuspensionChange | undefined> {
      return await transaction(database, tx => recordFinding(tx, lease, finding))
    },

    /** Gives an instance back that could not be looked at, to be looked at later, or as soon as somebody wished since. */
    async postpone({ instanceId, leasedUntil, generation, attempts }: InstanceLease, dueAt: Date): Promise<void> {
      await database.rows(sql`
        UPDATE instances SET leased_until = NULL, attempts = ${attempts + 1},
          due_at = CASE WHEN generation = ${generation} THEN ${dueAt}::timestamptz ELSE due_at END
        WHERE id = ${instanceId} AND leased_until = ${leasedUntil}`)
    },
  }
}
