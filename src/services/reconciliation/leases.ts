import { Prisma } from '../../database/generated/client.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { InstanceStatus, Restart, TargetState } from '../../domain/instances/states.ts'

const { sql } = Prisma

/** A gateway that dies keeps what it leased from the others for so long. Only the database's clock counts it. */
export const leaseMs = 30_000

/** When a lease ends that is taken now. */
export function leaseEndSql(now: Prisma.Sql): Prisma.Sql {
  return sql`${now} + ${leaseMs} * interval '1 millisecond'`
}

/** An instance that one gateway looks at, until the lease ends. */
export type InstanceLease = {
  instanceId: bigint
  accountId: number
  machineId: number
  leasedUntil: Date
  generation: number
  attempts: number
  targetState: TargetState
  /** Why that was changed last; null while it is as it was rented. */
  targetReason: string | null
  status: InstanceStatus
  interruptible: boolean
  granted: boolean
  /** Its GPUs cost something. */
  charged: boolean
  hasRun: boolean
  destroyed: boolean
  destroyedAt: Date | null
  statusChangedAt: Date
  /** Its machine could not do what it was last told. */
  refused: boolean
  /** How it is to be started anew; null where it is not. */
  restart: Restart | null
  /** Since when its machine does not answer; null while it does. */
  unreachableAt: Date | null
  /** When its machine answered last with how it is, before this. */
  seenAt: Date | null
  /** Since when its machine does not confirm that it is down. */
  unconfirmedAt: Date | null
  /** The public keys that are to log in; null where they are as they were when it was made. */
  sshKeys: string[] | null
}

/** Whether the instance is still ours, and locked now. A lease that ran out may be taken by another at any time. */
export async function lockIfLeased(tx: Transaction, { instanceId, leasedUntil }: InstanceLease): Promise<boolean> {
  const rows = await tx.rows(sql`
    SELECT id FROM instances WHERE id = ${instanceId} AND leased_until = ${leasedUntil} AND leased_until > ${tx.now}
    FOR NO KEY UPDATE`)
  return rows.length === 1
}
