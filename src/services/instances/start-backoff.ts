// Counts the failed starts of accounts. The caller must have locked the accounts.

import { Prisma } from '../../database/generated/client.ts'
import { int4, nullable, timestamptz } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import { addFailure, hasNotRun } from '../../domain/instances/start-backoff.ts'
import type { AccountBalance } from '../billing/balance.ts'
import type { Finding } from '../reconciliation/finding.ts'
import type { InstanceLease } from '../reconciliation/leases.ts'
import { holdsGpusSql, lostGpusToOwnAccountSql } from './sql.ts'

const { sql } = Prisma

/** Counts one failed start of each account. */
export async function countFailedStart(tx: Transaction, accounts: readonly AccountBalance[]): Promise<void> {
  if (accounts.length === 0) return
  const ids = accounts.map(({ accountId }) => accountId)
  const rows = await tx.query(
    sql`SELECT id, start_failures AS count, start_failed_at AS last_at FROM accounts WHERE id = ANY(${ids}::int[])`,
    { id: int4, count: int4, lastAt: nullable(timestamptz) },
  )
  const before = new Map(rows.map(({ id, ...failures }) => [id, failures]))
  const changed = accounts.flatMap(({ accountId: id, at }) => {
    const failures = before.get(id)
    if (!failures) throw new Error(`The account ${id} is missing.`)
    const after = addFailure(failures, at)
    return after === failures ? [] : [{ id, ...after }]
  })
  if (changed.length === 0) return
  await tx.execute(sql`
    UPDATE accounts SET start_failures = new.count, start_failed_at = new.last_at
    FROM unnest(${changed.map(({ id }) => id)}::int[], ${changed.map(({ count }) => count)}::int[],
      ${changed.map(({ lastAt }) => lastAt)}::timestamptz[]) AS new(id, count, last_at) WHERE accounts.id = new.id`)
}

/** Ends the streaks of failed starts of accounts, because an instance of each runs. */
export async function clearFailedStarts(tx: Transaction, accounts: readonly AccountBalance[]): Promise<void> {
  const ids = accounts.map(({ accountId }) => accountId)
  await tx.execute(sql`
    UPDATE accounts SET start_failures = 0, start_failed_at = NULL WHERE id = ANY(${ids}::int[]) AND start_failures > 0`)
}

/**
 * The accounts of those starting instances that hold their GPUs, or held them until another instance of their account took
 * them. An instance that waits for GPUs holds none.
 */
export async function findAccountsWithGpus(tx: Transaction, ids: readonly bigint[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set()
  const statement = sql`
    SELECT DISTINCT i.account_id FROM instances i WHERE i.id = ANY(${ids.map(String)}::bigint[])
    AND (${holdsGpusSql} OR (i.status = 'loading' AND ${lostGpusToOwnAccountSql}))`
  return new Set((await tx.query(statement, { accountId: int4 })).map(({ accountId }) => accountId))
}

/**
 * Whether a finding is a failed start: the instance ended on its own before it ran, or lost its GPUs to another
 * instance of its account while it loaded. Losing the GPUs to another account is not a failed start.
 */
export async function hasFailedToStart(tx: Transaction, lease: InstanceLease, finding: Finding): Promise<boolean> {
  if (!mayHaveFailedToStart(lease, finding)) return false
  if (finding.status === 'exited') return true
  const found = await tx.execute(sql`
    SELECT FROM instances i WHERE i.id = ${lease.instanceId} AND ${lostGpusToOwnAccountSql}`)
  return found > 0
}

/** Whether it ended before it ran, or lost its GPUs to any instance while it loaded. */
export function mayHaveFailedToStart(lease: InstanceLease, finding: Finding): boolean {
  if (lease.destroyed || lease.charged || finding.ran || !hasNotRun(lease)) return false
  return finding.status === 'exited' || (lease.status === 'loading' && !lease.holdsGpus && finding.status !== 'loading')
}
