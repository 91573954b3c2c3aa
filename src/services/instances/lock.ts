// Locks the instances that a command changes.

import { Prisma } from '../../database/generated/client.ts'
import { withoutStatementName } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { type CommandSubject, type InstanceTarget, tooManyMatches } from '../../domain/instances/command.ts'
import type { InstanceFilter } from '../../domain/instances/filter.ts'
import { matchingInstancesSql } from './filter.ts'
import { instancesFromSql } from './sql.ts'

const { sql, join } = Prisma

export type LockedInstance = { subject: CommandSubject; accountId: number; machineId: number }

/**
 * Locks instances in the order of their ids, as every transaction does that locks several instances. With `owner`, an
 * account id, locks only instances of that account.
 */
export async function lockInstances(
  tx: Transaction,
  ids: readonly bigint[],
  owner?: number,
): Promise<LockedInstance[]> {
  const rows = await tx.rows(sql`
    SELECT ${subjectColumnsSql} FROM instances i
    WHERE i.id = ANY(${ids.map(String)}::bigint[]) AND (${owner ?? null}::int IS NULL OR i.account_id = ${owner ?? null})
    ORDER BY i.id FOR NO KEY UPDATE`)
  return rows.map(toLockedInstance)
}

/** Locks the instances of an account that match a filter, at most `limit`, in the order of their ids. */
export async function lockMatchingInstances(
  tx: Transaction,
  actor: Pick<Actor, 'accountId'>,
  filter: InstanceFilter,
  limit: number,
): Promise<LockedInstance[]> {
  // A row that another transaction changes meanwhile is compared again once this transaction has its lock.
  const rows = await tx.rows(
    withoutStatementName(sql`
      SELECT ${subjectColumnsSql} FROM ${instancesFromSql} WHERE ${join(matchingInstancesSql(actor, filter), ' AND ')}
      ORDER BY i.id LIMIT ${limit} FOR NO KEY UPDATE OF i`),
  )
  return rows.map(toLockedInstance)
}

const subjectColumnsSql = sql`i.id, i.label, i.target_state, i.status, i.destroyed_at, i.stop_at, i.account_id, i.machine_id`

function toLockedInstance(row: unknown[]): LockedInstance {
  const [id, label, targetState, status, destroyedAt, stopAt, accountId, machineId] = row
  return {
    subject: { id, label, targetState, status, destroyedAt, stopAt } as CommandSubject,
    accountId: accountId as number,
    machineId: machineId as number,
  }
}

/** Locks the instances of a target. Of a filter's matches, exactly the locked ones are changed. */
export async function lockTarget(
  tx: Transaction,
  actor: Actor,
  target: InstanceTarget,
  limit: number,
): Promise<LockedInstance[]> {
  if ('ids' in target) return await lockInstances(tx, target.ids, actor.accountId)
  const locked = await lockMatchingInstances(tx, actor, target.filter, limit + 1)
  if (locked.length <= limit) return locked
  const matches = join(matchingInstancesSql(actor, target.filter), ' AND ')
  const [row] = await tx.rows(withoutStatementName(sql`SELECT count(*)::int FROM ${instancesFromSql} WHERE ${matches}`))
  throw tooManyMatches(row?.[0] as number, limit)
}
