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
import { createBatcher } from '../batches.ts'
import type { Deps } from '../deps.ts'
import { changePorts } from '../instances/ports.ts'
import { holdsGpusSql, isChargedSql, occupiesGpusSql } from '../instances/sql.ts'
import { lockMachine } from '../machines/lock.ts'
import { instanceSshKeysSql, loadContainerSpecs } from './container-spec.ts'
import { createFairLease } from './fair-lease.ts'
import type { Finding } from './finding.ts'
import { occupyGpusWork } from './gpus.ts'
import { type InstanceLease, lockIfLeased } from './leases.ts'
import { catchUpMarketWork } from './market.ts'
import { recordWork } from './record.ts'
import type { SuspensionChange } from './suspension.ts'

const { sql } = Prisma

const leaseRow = {
  ...{ instanceId: int8, accountId: int4, machineId: int4, leasedUntil: timestamptz, generation: int4, attempts: int4 },
  ...{ targetState: enumeration<TargetState>(), targetReason: nullable(text), targetMessage: nullable(text) },
  status: enumeration<InstanceStatus>(),
  ...{ interruptible: bool, holdsGpus: bool, occupiesGpus: bool, hasRun: bool, destroyed: bool, charged: bool },
  ...{ reasonCode: nullable(text), refused: bool },
  ...{ vm: bool, mode: textOf<LaunchConfig['mode']>(), sshKeys: textArray },
  restart: nullable(enumeration<Restart>()),
  ...{ destroyedAt: nullable(timestamptz), statusChangedAt: timestamptz, unreachableAt: nullable(timestamptz) },
  ...{ unconfirmedAt: nullable(timestamptz), seenAt: nullable(timestamptz) },
}

export function reconciliationServices({ database, secrets, log, gatewayId }: Deps) {
  const leaseFairly = createFairLease({ database, gatewayId })
  const loadSpecs = async (leases: readonly InstanceLease[]) => {
    const ids = leases.map(({ instanceId }) => instanceId)
    const specs = await loadContainerSpecs(database, secrets, ids)
    return new Map(leases.map(lease => [lease, specs.get(lease.instanceId)]))
  }
  const specWork = {
    many: loadSpecs,
    one: async (lease: InstanceLease) => (await loadSpecs([lease])).get(lease),
    accountOf: ({ accountId }: InstanceLease) => accountId,
  }
  const loadSpec = createBatcher(specWork, log)
  const record = createBatcher(recordWork(database), log)
  return {
    /** Leases due instances, in turns between accounts. `busy` are the instances that this gateway works on now. */
    async leaseDue(limit: number, busy: readonly InstanceLease[] = []): Promise<InstanceLease[]> {
      const { ids, leasedUntil } = await leaseFairly({ limit, busy })
      if (ids.length === 0) return []
      // A second statement: the first reads the newest version of the rows that it locks, but all other rows, such as
      // those of `gpus`, as of its start.
      const statement = sql`
        SELECT i.id AS instance_id, i.account_id, i.machine_id, l.generation, l.attempts, i.target_state, i.target_reason, i.target_message, i.status, i.interruptible,
          ${holdsGpusSql} AS holds_gpus, i.started_at IS NOT NULL AS has_run, i.destroyed_at IS NOT NULL AS destroyed,
          i.vm, i.launch ->> 'mode' AS mode, ${instanceSshKeysSql} AS ssh_keys,
          ${occupiesGpusSql} AS occupies_gpus, i.reason_code, coalesce(i.reason_code = 'MACHINE_ERROR', false) AS refused, ${isChargedSql} AS charged, i.restart,
          i.destroyed_at, i.status_changed_at, i.unreachable_at, i.unconfirmed_at, l.seen_at, l.leased_until
        FROM instance_looks l JOIN instances i ON i.id = l.instance_id
        WHERE l.instance_id = ANY(${ids.map(String)}::bigint[]) AND l.leased_until = ${leasedUntil}`
      const rows = await database.query(statement, leaseRow)
      return rows.map(({ vm, mode, sshKeys, ...lease }) => {
        return { ...lease, sshKeys: canChangeSshKeys({ vm, mode }) ? sshKeys : null }
      })
    },

    async loadSpec(lease: InstanceLease): Promise<ContainerSpec> {
      const spec = await loadSpec(lease)
      if (!spec) throw new Error(`The instance ${lease.instanceId} has no row.`)
      return spec()
    },

    /**
     * Marks the GPUs as in use before the container starts. Returns false while another container may still run on one
     * of them, or if the market has granted them to another instance.
     */
    occupyGpus: createBatcher(occupyGpusWork(database), log),

    /**
     * Updates the market of the machine. Called when the instance holds GPUs that it does not want, or lacks GPUs that it
     * wants: it has ended, it waits, or no market update followed its last command. True if its generation has changed:
     * the lease is then released for another pass.
     */
    catchUpMarket: createBatcher(catchUpMarketWork(database), log),

    /** Whether the machine has as many free ports as the instance has. */
    async hasOtherPorts({ instanceId, machineId }: InstanceLease): Promise<boolean> {
      const statement = sql`SELECT free_ports >= (SELECT count(*) FROM port_bindings WHERE instance_id = ${instanceId}) AS has_others
        FROM machines WHERE id = ${machineId}`
      return (await database.query(statement, { hasOthers: bool }))[0]?.hasOthers ?? false
    },

    /** Binds other public ports to the instance, which has no container, if the machine still has as many. */
    changePorts: async (lease: InstanceLease): Promise<void> =>
      await transaction(database, async tx => {
        const machine = await lockMachine(tx, lease.machineId)
        if (machine && (await lockIfLeased(tx, lease))) await changePorts(tx, machine, lease.instanceId)
      }),

    /** Records a finding and releases the lease. A finding of an older generation changes no status. */
    record: async (lease: InstanceLease, finding: Finding): Promise<SuspensionChange | undefined> =>
      await record({ lease, finding }),

    /**
     * Releases the lease after a failed pass. The next pass is due at `dueAt`, or sooner if the desired state has
     * changed.
     */
    async postpone({ instanceId, leasedUntil, generation, attempts }: InstanceLease, dueAt: Date): Promise<void> {
      await database.execute(sql`
        UPDATE instance_looks SET leased_until = NULL, attempts = ${attempts + 1},
          due_at = CASE WHEN generation = ${generation} THEN ${dueAt}::timestamptz ELSE due_at END
        WHERE instance_id = ${instanceId} AND leased_until = ${leasedUntil}`)
    },
  }
}
