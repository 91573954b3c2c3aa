import { Prisma } from '../../database/generated/client.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { InstanceStatus, Restart, TargetState } from '../../domain/instances/states.ts'

const { sql } = Prisma

/** The instances of a dead gateway stay leased for at most this long. Only the database's clock measures it. */
export const leaseMs = 30_000

/** The end of a lease that starts now. */
export function leaseEndSql(nowSql: Prisma.Sql): Prisma.Sql {
  return sql`${nowSql} + ${leaseMs} * interval '1 millisecond'`
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
  status: InstanceStatus
  interruptible: boolean
  holdsGpus: boolean
  /** Whether the instance's GPUs are being charged. */
  charged: boolean
  hasRun: boolean
  destroyed: boolean
  destroyedAt: Date | null
  statusChangedAt: Date
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
 * Locks the instance if this gateway still has its lease. Another gateway may lease the instance at any time after the
 * lease ends.
 */
export async function lockIfLeased(tx: Transaction, { instanceId, leasedUntil }: InstanceLease): Promise<boolean> {
  const locked = await tx.execute(sql`
    SELECT id FROM instances WHERE id = ${instanceId} AND leased_until = ${leasedUntil} AND leased_until > ${tx.nowSql}
    FOR NO KEY UPDATE`)
  return locked === 1
}
