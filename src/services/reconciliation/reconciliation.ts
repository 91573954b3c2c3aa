// The reconciler's access to the database: leases of instances, and records of findings.

import { Prisma } from '../../database/generated/client.ts'
import {
  bool,
  enumeration,
  int4,
  int8,
  nullable,
  text,
  textArray,
  textOf,
  timestamptz,
} from '../../database/row-types.ts'
import { transaction } from '../../database/transaction.ts'
import { canChangeSshKeys } from '../../domain/accounts/ssh-keys.ts'
import type { ContainerSpec } from '../../domain/instances/containers.ts'
import type { LaunchConfig } from '../../domain/instances/instances.ts'
import type { InstanceStatus, Restart, TargetState } from '../../domain/instances/states.ts'
import type { Deps } from '../deps.ts'
import { holdsGpusSql, isChargedSql } from '../instances/sql.ts'
import { lockMachine, updateMarket } from '../machines/market.ts'
import { instanceSshKeysSql, loadContainerSpec } from './container-spec.ts'
import { createFairLease } from './fair-lease.ts'
import type { Finding } from './finding.ts'
import { type InstanceLease, lockIfLeased } from './leases.ts'
import { recordFinding, type SuspensionChange } from './record.ts'

const { sql } = Prisma

const leaseRow = {
  ...{ instanceId: int8, accountId: int4, machineId: int4, leasedUntil: timestamptz, generation: int4, attempts: int4 },
  ...{ targetState: enumeration<TargetState>(), targetReason: nullable(text), status: enumeration<InstanceStatus>() },
  ...{ interruptible: bool, holdsGpus: bool, hasRun: bool, destroyed: bool, refused: bool, charged: bool },
  ...{ vm: bool, mode: textOf<LaunchConfig['mode']>(), sshKeys: textArray },
  restart: nullable(enumeration<Restart>()),
  ...{ destroyedAt: nullable(timestamptz), statusChangedAt: timestamptz, unreachableAt: nullable(timestamptz) },
  ...{ unconfirmedAt: nullable(timestamptz), seenAt: nullable(timestamptz) },
}

export function reconciliationServices({ database, secrets }: Deps) {
  const leaseFairly = createFairLease(database)
  return {
    /** Leases due instances, in turns between accounts. `busy` are the instances that this gateway works on now. */
    async leaseDue(limit: number, busy: readonly InstanceLease[] = []): Promise<InstanceLease[]> {
      const { ids, leasedUntil } = await leaseFairly({ limit, busy })
      if (ids.length === 0) return []
      // A second statement: the first reads the newest version of the rows that it locks, but all other rows, such as
      // those of `gpus`, as of its start.
      const statement = sql`
        SELECT i.id AS instance_id, i.account_id, i.machine_id, i.generation, i.attempts, i.target_state, i.target_reason, i.status, i.interruptible,
          ${holdsGpusSql} AS holds_gpus, i.started_at IS NOT NULL AS has_run, i.destroyed_at IS NOT NULL AS destroyed,
          i.vm, i.launch ->> 'mode' AS mode, ${instanceSshKeysSql} AS ssh_keys,
          coalesce(i.reason_code = 'MACHINE_ERROR', false) AS refused, ${isChargedSql} AS charged, i.restart,
          i.destroyed_at, i.status_changed_at, i.unreachable_at, i.unconfirmed_at, i.seen_at, i.leased_until
        FROM instances i WHERE i.id = ANY(${ids.map(String)}::bigint[]) AND i.leased_until = ${leasedUntil}`
      const rows = await database.query(statement, leaseRow)
      return rows.map(({ vm, mode, sshKeys, ...lease }) => {
        return { ...lease, sshKeys: canChangeSshKeys({ vm, mode }) ? sshKeys : null }
      })
    },

    loadSpec: ({ instanceId }: InstanceLease): Promise<ContainerSpec> =>
      loadContainerSpec(database, secrets, instanceId),

    /**
     * Marks the GPUs as in use before the container starts. Returns false while another container may still run on one
     * of them, or if the market has granted them to another instance.
     */
    async occupyGpus(lease: InstanceLease): Promise<boolean> {
      return await transaction(database, async tx => {
        await lockMachine(tx, lease.machineId)
        if (!(await lockIfLeased(tx, lease))) return false
        const [gpus] = await tx.query(
          sql`SELECT bool_and(occupant_id IS NULL OR occupant_id = ${lease.instanceId}) AS are_free FROM gpus
            WHERE machine_id = ${lease.machineId} AND holder_id = ${lease.instanceId}`,
          { areFree: nullable(bool) },
        )
        if (!gpus?.areFree) return false
        await tx.execute(sql`
          UPDATE gpus SET occupant_id = ${lease.instanceId}
          WHERE machine_id = ${lease.machineId} AND holder_id = ${lease.instanceId}`)
        return true
      })
    },

    /**
     * Updates the market of the machine. Called when the instance holds GPUs that it does not want, or lacks GPUs that it
     * wants: it has ended, it waits, or no market update followed its last command. True if its generation has changed:
     * the lease is then released for another pass.
     */
    async catchUpMarket({ instanceId, machineId, leasedUntil, generation }: InstanceLease): Promise<boolean> {
      await transaction(database, async tx => {
        const machine = await lockMachine(tx, machineId)
        if (machine) await updateMarket(tx, machine, tx.at)
      })
      // A transaction of its own: the market update locked other instances, and locks are taken in id order.
      const changed = await database.execute(sql`
        UPDATE instances SET leased_until = NULL
        WHERE id = ${instanceId} AND leased_until = ${leasedUntil} AND generation <> ${generation}`)
      return changed > 0
    },

    /** Records a finding and releases the lease. A finding of an older generation changes no status. */
    async record(lease: InstanceLease, finding: Finding): Promise<SuspensionChange | undefined> {
      return await transaction(database, tx => recordFinding(tx, lease, finding))
    },

    /**
     * Releases the lease after a failed pass. The next pass is due at `dueAt`, or sooner if the desired state has
     * changed.
     */
    async postpone({ instanceId, leasedUntil, generation, attempts }: InstanceLease, dueAt: Date): Promise<void> {
      await database.execute(sql`
        UPDATE instances SET leased_until = NULL, attempts = ${attempts + 1},
          due_at = CASE WHEN generation = ${generation} THEN ${dueAt}::timestamptz ELSE due_at END
        WHERE id = ${instanceId} AND leased_until = ${leasedUntil}`)
    },
  }
}
