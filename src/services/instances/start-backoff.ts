// Counts the failed starts of an account. The caller must have locked the account.

import { Prisma } from '../../database/generated/client.ts'
import { int4, nullable, timestamptz } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import { addFailure, hasNotRun } from '../../domain/instances/start-backoff.ts'
import type { AccountBalance } from '../billing/balance.ts'
import type { Finding } from '../reconciliation/finding.ts'
import type { InstanceLease } from '../reconciliation/leases.ts'
import { holdsGpusSql, lostGpusToOwnAccountSql } from './sql.ts'

const { sql } = Prisma

export async function countFailedStart(tx: Transaction, { accountId, at }: AccountBalance): Promise<void> {
  const [before] = await tx.query(
    sql`SELECT start_failures AS count, start_failed_at AS last_at FROM accounts WHERE id = ${accountId}`,
    { count: int4, lastAt: nullable(timestamptz) },
  )
  if (!before) throw new Error(`The account ${accountId} is missing.`)
  const after = addFailure(before, at)
  await tx.execute(sql`
    UPDATE accounts SET start_failures = ${after.count}, start_failed_at = ${after.lastAt} WHERE id = ${accountId}`)
}

/** Ends the account's streak of failed starts, because an instance runs. */
export async function clearFailedStarts(tx: Transaction, { accountId }: AccountBalance): Promise<void> {
  await tx.execute(sql`
    UPDATE accounts SET start_failures = 0, start_failed_at = NULL WHERE id = ${accountId} AND start_failures > 0`)
}

/**
 * Whether one of these starting instances holds its GPUs, or held them until another instance of its account took them. An
 * instance that waits for GPUs holds none.
 */
export async function hasGpuHolder(tx: Transaction, ids: readonly bigint[]): Promise<boolean> {
  if (ids.length === 0) return false
  const found = await tx.execute(sql`
    SELECT FROM instances i WHERE i.id = ANY(${ids.map(String)}::bigint[])
    AND (${holdsGpusSql} OR (i.status = 'loading' AND ${lostGpusToOwnAccountSql})) LIMIT 1`)
  return found > 0
}

/**
 * Whether a finding is a failed start: the instance ended on its own before it ran, or lost its GPUs to another
 * instance of its account while it loaded. Losing the GPUs to another account is not a failed start.
 */
export async function hasFailedToStart(tx: Transaction, lease: InstanceLease, finding: Finding): Promise<boolean> {
  if (lease.destroyed || lease.charged || finding.ran || !hasNotRun(lease)) return false
  if (finding.status === 'exited') return true
  if (lease.status !== 'loading' || lease.holdsGpus || finding.status === 'loading') return false
  const found = await tx.execute(sql`
    SELECT FROM instances i WHERE i.id = ${lease.instanceId} AND ${lostGpusToOwnAccountSql}`)
  return found > 0
}
