// The database's side of reconciling: who looks at which instance, and what becomes of what was seen.

import { Prisma } from '../database/generated/client.ts'
import { type Transaction, transaction } from '../database/transaction.ts'
import type { ContainerSpec } from '../domain/containers.ts'
import {
  finalStatuses,
  type InstanceStatus,
  isFinal,
  type LaunchConfig,
  type PortBinding,
  type Reason,
  type TargetState,
} from '../domain/instances.ts'
import type { Registry } from '../domain/registry.ts'
import type { Deps } from './deps.ts'
import { recordEvents } from './events.ts'
import { lockMachine, settleMarket } from './market.ts'

const { sql } = Prisma

/** An instance that one gateway looks at, until the lease ends. */
export type Lease = {
  instanceId: bigint
  accountId: number
  machineId: number
  leasedUntil: Date
  generation: number
  attempts: number
  targetState: TargetState
  status: InstanceStatus
  interruptible: boolean
  granted: boolean
  hasRun: boolean
  destroyed: boolean
}

/** What was seen and decided. */
export type Finding = {
  status: InstanceStatus
  reason: Reason | undefined
  /** Its container uses no GPU: whoever waits for them may start. */
  inactive: boolean
  /** It was destroyed, and its container is gone. */
  gone: boolean
  /** When to look again; null for when somebody wishes otherwise. */
  dueAt: Date | null
}

/** A gateway that dies keeps its instances from the others for so long. */
const leaseMs = 30_000

export function reconciliationServices({ database, now, secrets, wake }: Deps) {
  return {
    /** Takes the instances that are due, the longest first. What one gateway takes no other has. */
    async claim(limit: number): Promise<Lease[]> {
      const at = now()
      const leasedUntil = new Date(at.getTime() + leaseMs)
      const taken = await database.rows(sql`
        UPDATE instances SET leased_until = ${leasedUntil} WHERE id IN (
          SELECT id FROM instances WHERE due_at <= ${at} AND (leased_until IS NULL OR leased_until <= ${at})
          ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ) RETURNING id`)
      if (taken.length === 0) return []
      // Asked afterwards and at once: a statement that takes rows sees them as they are when it takes them, but
      // everything beside them, such as the GPUs, as it was when it began.
      const rows = await database.rows(sql`
        SELECT i.id, i.account_id, i.machine_id, i.generation, i.attempts, i.target_state, i.status, i.interruptible,
          EXISTS (SELECT FROM gpus g WHERE g.machine_id = i.machine_id AND g.holder_id = i.id),
          i.started_at IS NOT NULL, i.destroyed_at IS NOT NULL
        FROM instances i WHERE i.id = ANY(${taken.map(([id]) => String(id))}::bigint[]) AND i.leased_until = ${leasedUntil}`)
      return rows.map(row => {
        const [instanceId, accountId, machineId, generation, attempts, targetState, status, interruptible, ...rest] =
          row
        const [granted, hasRun, destroyed] = rest
        const facts = { instanceId, accountId, machineId, leasedUntil, generation, attempts, targetState, status }
        return { ...facts, interruptible, granted, hasRun, destroyed } as Lease
      })
    },

    async specOf({ instanceId }: Lease): Promise<ContainerSpec> {
      const [row] = await database.rows(sql`
        SELECT machine_id, first_gpu, num_gpus, disk_mb, launch, registry_login, (
          SELECT json_agg(json_build_object('hostPort', host_port, 'containerPort', container_port, 'protocol', protocol))
          FROM port_bindings b WHERE b.instance_id = i.id
        ) FROM instances i WHERE id = ${instanceId}`)
      const [machineId, firstGpu, numGpus, diskMb, launch, login, ports] = row as [
        ...[number, number, number, number],
        LaunchConfig,
        Buffer | null,
        PortBinding[] | null,
      ]
      const gpus = Array.from({ length: numGpus }, (_, index) => firstGpu + index)
      const registry = login ? (JSON.parse(secrets.open(login)) as Registry) : undefined
      return { instanceId, machineId, gpus, diskMb, launch, ports: ports ?? [], registry }
    },

    /**
     * Marks the GPUs as in use, before the container starts on them. False while another's container may still run on
     * one of them, or when the market has given them to another since.
     */
    async occupy(lease: Lease): Promise<boolean> {
      return await transaction(database.pool, async tx => {
        await lockMachine(tx, lease.machineId)
        if (!(await isHeld(tx, lease))) return false
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
    async settle({ instanceId, machineId, leasedUntil, generation }: Lease): Promise<boolean> {
      await transaction(database.pool, async tx => {
        await settleMarket(tx, await lockMachine(tx, machineId), now())
      })
      // On its own, since the market has taken other instances: nobody takes one of a lower id after those.
      const changed = await database.rows(sql`
        UPDATE instances SET leased_until = NULL
        WHERE id = ${instanceId} AND leased_until = ${leasedUntil} AND generation <> ${generation} RETURNING id`)
      return changed.length > 0
    },

    /** Writes what was seen, and gives the instance back. What was seen under an older wish changes no status. */
    async record(lease: Lease, finding: Finding): Promise<void> {
      const at = now()
      const othersAreDue = await transaction(database.pool, tx => recordIn(tx, lease, finding, at))
      if (othersAreDue) wake()
    },

    /** Gives an instance back that could not be looked at, to be looked at later, or as soon as somebody wished since. */
    async postpone({ instanceId, leasedUntil, generation, attempts }: Lease, dueAt: Date): Promise<void> {
      await database.rows(sql`
        UPDATE instances SET leased_until = NULL, attempts = ${attempts + 1},
          due_at = CASE WHEN generation = ${generation} THEN ${dueAt}::timestamptz ELSE due_at END
        WHERE id = ${instanceId} AND leased_until = ${leasedUntil}`)
    },
  }

  /** True when others than this instance may have something to do now, or it has itself. */
  async function recordIn(tx: Transaction, lease: Lease, finding: Finding, at: Date): Promise<boolean> {
    await lockMachine(tx, lease.machineId)
    if (finding.inactive) await lockHeirs(tx, lease)
    if (!(await isHeld(tx, lease))) return false
    const vacated = finding.inactive && (await vacate(tx, lease, at))
    if (finding.gone) await release(tx, lease, at)
    // What just ended is looked at once more: it still has its GPUs, which the market must give to others.
    const ended = isFinal(finding.status) && !isFinal(lease.status)
    const dueAt = ended ? at : finding.dueAt
    const [current] = await tx.rows(sql`
      UPDATE instances SET leased_until = NULL, attempts = 0,
        due_at = CASE WHEN generation = ${lease.generation} THEN ${dueAt}::timestamptz ELSE due_at END
      WHERE id = ${lease.instanceId} RETURNING generation`)
    if (current?.[0] !== lease.generation) return true
    // Of what ended before there is nothing new to be said: why it ended stays.
    if (!isFinal(lease.status)) await writeStatus(tx, lease, finding, at)
    return vacated || ended
  }

  /** Takes the instance and those that wait for the GPUs that it leaves, in the order of all who take several. */
  async function lockHeirs(tx: Transaction, { instanceId, machineId }: Lease): Promise<void> {
    await tx.rows(sql`
      SELECT id FROM instances WHERE id = ${instanceId} OR id IN (
        SELECT holder_id FROM gpus WHERE machine_id = ${machineId} AND occupant_id = ${instanceId}
      ) ORDER BY id FOR UPDATE`)
  }

  /** Whether the instance is still ours, and locked now. A lease that ran out may have been taken by another. */
  async function isHeld(tx: Transaction, { instanceId, leasedUntil }: Lease): Promise<boolean> {
    const rows = await tx.rows(sql`
      SELECT id FROM instances WHERE id = ${instanceId} AND leased_until = ${leasedUntil} FOR UPDATE`)
    return rows.length === 1
  }

  /** Frees the GPUs for those who hold them and wait. True when there was something to free. */
  async function vacate(tx: Transaction, { instanceId, machineId }: Lease, at: Date): Promise<boolean> {
    const left = await tx.rows(sql`
      UPDATE gpus SET occupant_id = NULL WHERE machine_id = ${machineId} AND occupant_id = ${instanceId} RETURNING index`)
    if (left.length === 0) return false
    await tx.rows(sql`
      UPDATE instances SET generation = generation + 1, due_at = ${at} WHERE id IN (
        SELECT holder_id FROM gpus WHERE machine_id = ${machineId} AND holder_id <> ${instanceId}
        AND index = ANY(${left.map(([index]) => index as number)}::int[])
      )`)
    return true
  }

  /** Its disk and its ports are the machine's again. */
  async function release(tx: Transaction, { instanceId, accountId, machineId }: Lease, at: Date): Promise<void> {
    const removed = await tx.rows(sql`
      UPDATE instances SET removed_at = ${at} WHERE id = ${instanceId} AND removed_at IS NULL RETURNING disk_mb`)
    if (removed.length === 0) return
    const ports = await tx.rows(sql`DELETE FROM port_bindings WHERE instance_id = ${instanceId} RETURNING host_port`)
    await tx.rows(sql`
      UPDATE machines SET free_disk_mb = free_disk_mb + ${removed[0]?.[0] as number}, free_ports = free_ports + ${ports.length}
      WHERE id = ${machineId}`)
    await recordEvents(tx, [{ type: 'INSTANCE_REMOVED', accountId, instanceId }], at)
  }

  async function writeStatus(tx: Transaction, lease: Lease, { status, reason }: Finding, at: Date): Promise<void> {
    const { instanceId, accountId } = lease
    const written = await tx.rows(sql`
      UPDATE instances SET status = ${status}::instance_status, reason_code = ${reason?.code ?? null},
        reason_message = ${reason?.message ?? null}, exit_code = ${reason?.exitCode ?? null},
        status_changed_at = CASE WHEN status = ${status}::instance_status THEN status_changed_at ELSE ${at} END,
        started_at = CASE WHEN ${status} = 'running' THEN coalesce(started_at, ${at}) ELSE started_at END
      WHERE id = ${instanceId} AND (status <> ${status}::instance_status OR reason_code IS DISTINCT FROM ${reason?.code ?? null})
      AND destroyed_at IS NULL RETURNING id`)
    if (written.length === 0) return
    const event = { type: 'INSTANCE_STATUS_CHANGED' as const, accountId, instanceId }
    const [before, after] = [{ status: lease.status }, { status, message: reason?.message }]
    await recordEvents(tx, [{ ...event, before, after, ...(reason && { reason: reason.code }) }], at)
  }
}

/** Whether an instance's GPUs should be its own: then the market gives them to it, unless others come first. */
export function claims({ targetState, status, destroyed }: Lease): boolean {
  return targetState === 'running' && !destroyed && !finalStatuses.includes(status)
}
