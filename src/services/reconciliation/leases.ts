import { Prisma } from '../../database/generated/client.ts'
import { int4, int8 } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { InstanceStatus, Restart, TargetState } from '../../domain/instances/states.ts'

const { sql } = Prisma

/** The instances of a dead gateway stay leased for at most this long. Only the database's clock measures it. */
export const leaseMs = 30_000

/** The end of a lease that starts now. */
export function leaseEndSql(nowSql: Prisma.Sql): Prisma.Sql {
  return sql`${nowSql} + ${leaseMs} * interval '1 millisecond'`
}

/**
 * Whether nothing is leased until `until`, which may be null. A lease that ends later than any lease given now was given before the
 * database's clock went back: it has ended, or its work would wait as long as the clock went back. Twice the length, because
 * `now` may be when a slow transaction began.
 */
export function isFreeSql(until: Prisma.Sql, nowSql: Prisma.Sql, lengthMs = leaseMs): Prisma.Sql {
  return sql`(${until} IS NULL OR NOT ${isHeldSql(until, nowSql, lengthMs)})`
}

/** The contrary of `isFreeSql` where `until` is not null. */
export function isHeldSql(until: Prisma.Sql, nowSql: Prisma.Sql, lengthMs = leaseMs): Prisma.Sql {
  return sql`(${until} > ${nowSql} AND ${until} <= ${nowSql} + ${2 * lengthMs} * interval '1 millisecond')`
}

/** An instance that only one gateway acts on until the lease ends. */
export type InstanceLease = {
  instanceId: bigint
  accountId: number
  machineId: number
  leasedUntil: Date
  /** Grows with every change that needs a new pass. A finding of an older generation changes no status. */
  generation: number
  /** How many passes in a row failed or must be retried. */
  attempts: number
  targetState: TargetState
  /** Why the target state last changed; null if it never has. */
  targetReason: string | null
  /** What the operator wrote about that change. */
  targetMessage: string | null
  status: InstanceStatus
  interruptible: boolean
  holdsGpus: boolean
  /** Whether the instance's container may be using GPUs. */
  occupiesGpus: boolean
  /** Whether the instance's GPUs are being charged. */
  charged: boolean
  hasRun: boolean
  destroyed: boolean
  destroyedAt: Date | null
  statusChangedAt: Date
  /** Why the instance has its status; null if there is no reason. */
  reasonCode: string | null
  /** Whether the machine refused the last step. */
  refused: boolean
  /** The remaining part of a restart; null if there is none. */
  restart: Restart | null
  /** Since when the machine does not answer; null while it does. */
  unreachableAt: Date | null
  /** When the instance was last observed, before this lease. */
  seenAt: Date | null
  /** Since when the confirmation of a stop is overdue; null if no confirmation is overdue. */
  unconfirmedAt: Date | null
  /** Public keys that may log in; null if the container keeps the keys that it was made with. */
  sshKeys: string[] | null
}

/**
 * Locks the instance and its lease, if this gateway still has it, and returns the generation. Another gateway may lease the
 * instance at any time after the lease ends.
 */
export async function lockIfLeased(
  tx: Transaction,
  { instanceId, leasedUntil }: InstanceLease,
): Promise<{ generation: number } | undefined> {
  const [locked] = await tx.query(
    sql`SELECT l.generation FROM instances i JOIN instance_looks l ON l.instance_id = i.id
      WHERE i.id = ${instanceId} AND l.leased_until = ${leasedUntil} AND l.leased_until > ${tx.nowSql} FOR NO KEY UPDATE`,
    { generation: int4 },
  )
  return locked
}

/** Locks those of the leases that this gateway still has. Returns the generations of their instances. */
export async function lockLeases(
  tx: Transaction,
  leases: readonly InstanceLease[],
): Promise<Map<InstanceLease, number>> {
  if (leases.length === 0) return new Map()
  const rows = await tx.query(sql`${heldLeasesSql(tx, leases)} FOR NO KEY UPDATE OF l`, heldRow)
  return new Map(rows.map(({ place, generation }) => [leases[Number(place) - 1] as InstanceLease, generation]))
}

/** Locks those of the leases that this gateway still has and no other transaction has locked. */
export async function lockFreeLeases(tx: Transaction, leases: readonly InstanceLease[]): Promise<InstanceLease[]> {
  if (leases.length === 0) return []
  const rows = await tx.query(sql`${heldLeasesSql(tx, leases)} FOR NO KEY UPDATE OF l SKIP LOCKED`, heldRow)
  return rows.map(({ place }) => leases[Number(place) - 1] as InstanceLease)
}

/** `place`: which of the leases, from 1. An instance may have been leased again since an earlier one of them. */
const heldRow = { place: int8, generation: int4 }

function heldLeasesSql({ nowSql }: Transaction, leases: readonly InstanceLease[]): Prisma.Sql {
  return sql`
    SELECT lease.place, l.generation FROM unnest(
      ${leases.map(({ instanceId }) => String(instanceId))}::bigint[], ${leases.map(({ leasedUntil }) => leasedUntil)}::timestamptz[]
    ) WITH ORDINALITY AS lease (instance_id, leased_until, place)
    JOIN instance_looks l ON l.instance_id = lease.instance_id AND l.leased_until = lease.leased_until
    WHERE l.leased_until > ${nowSql} ORDER BY l.instance_id`
}

/** Locks instances in id order, as every transaction does. */
export async function lockInstances(tx: Transaction, ids: readonly bigint[]): Promise<void> {
  await tx.execute(sql`${instancesSql(ids)} FOR NO KEY UPDATE`)
}

/** Locks those of the instances that no other transaction has locked, and returns them. */
export async function lockFreeInstances(tx: Transaction, ids: readonly bigint[]): Promise<Set<bigint>> {
  const rows = await tx.query(sql`${instancesSql(ids)} FOR NO KEY UPDATE SKIP LOCKED`, { id: int8 })
  return new Set(rows.map(({ id }) => id))
}

function instancesSql(ids: readonly bigint[]): Prisma.Sql {
  return sql`SELECT id FROM instances WHERE id = ANY(${ids.map(String)}::bigint[]) ORDER BY id`
}
