// Counts failed starts on their account, which the caller has locked.

import { Prisma } from '../../database/generated/client.ts'
import type { Transaction } from '../../database/transaction.ts'
import { addFailure, hasNotRun } from '../../domain/instances/start-backoff.ts'
import type { AccountBalance } from '../billing/balance.ts'
import type { Finding } from '../reconciliation/finding.ts'
import type { InstanceLease } from '../reconciliation/leases.ts'
import { holdsGpusSql, lostGpusToOwnAccountSql } from './sql.ts'

const { sql } = Prisma

export async function countFailedStart(tx: Transaction, { accountId, at }: AccountBalance): Promise<void> {
  const [row] = await tx.rows(sql`SELECT start_failures, start_failed_at FROM accounts WHERE id = ${accountId}`)
  const [count, lastAt] = row as [number, Date | null]
  const after = addFailure({ count, lastAt }, at)
  await tx.rows(sql`
    UPDATE accounts SET start_failures = ${after.count}, start_failed_at = ${after.lastAt} WHERE id = ${accountId}`)
}

/** An instance runs, so the failures before it were not in a row. */
export async function clearFailedStarts(tx: Transaction, { accountId }: AccountBalance): Promise<void> {
  await tx.rows(sql`
    UPDATE accounts SET start_failures = 0, start_failed_at = NULL WHERE id = ${accountId} AND start_failures > 0`)
}

/**
 * Whether one of these instances, which are starting, holds its GPUs, or held them until another one of its account took
 * them. What waits for GPUs holds nothing.
 */
export async function hasGpuHolder(tx: Transaction, ids: readonly bigint[]): Promise<boolean> {
  if (ids.length === 0) return false
  const rows = await tx.rows(sql`
    SELECT i.id FROM instances i WHERE i.id = ANY(${ids.map(String)}::bigint[])
    AND (${holdsGpusSql} OR (i.status = 'loading' AND ${lostGpusToOwnAccountSql})) LIMIT 1`)
  return rows.length > 0
}

/**
 * Whether what was seen is a failed start: an instance ended by itself before it ran, or lost its GPUs while it loaded to
 * another one of its account. Somebody else's bid is no failure.
 */
export async function hasFailedToStart(tx: Transaction, lease: InstanceLease, finding: Finding): Promise<boolean> {
  if (lease.destroyed || lease.charged || finding.ran || !hasNotRun(lease)) return false
  if (finding.status === 'exited') return true
  if (lease.status !== 'loading' || lease.granted || finding.status === 'loading') return false
  const rows = await tx.rows(sql`
    SELECT i.id FROM instances i WHERE i.id = ${lease.instanceId} AND ${lostGpusToOwnAccountSql}`)
  return rows.length > 0
}
