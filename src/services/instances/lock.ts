// Locks the instances that a command changes.

import { Prisma } from '../../database/generated/client.ts'
import { enumeration, int4, int8, nullable, type RowOf, text, timestamptz } from '../../database/row-types.ts'
import { columnsSql } from '../../database/rows.ts'
import { withoutStatementName } from '../../database/statement-names.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { type CommandSubject, type InstanceTarget, tooManyMatches } from '../../domain/instances/command.ts'
import type { InstanceFilter } from '../../domain/instances/filter.ts'
import type { InstanceStatus, TargetState } from '../../domain/instances/states.ts'
import { matchingInstancesSql } from './filter.ts'

const { sql, join } = Prisma

export type LockedInstance = { subject: CommandSubject; accountId: number; machineId: number; gpuPriceNanos: bigint }

/**
 * Locks instances in the order of their ids, as every transaction does that locks several instances. With `owner`, an
 * account id, locks only instances of that account.
 */
export async function lockInstances(
  tx: Transaction,
  ids: readonly bigint[],
  owner?: number,
): Promise<LockedInstance[]> {
  const rows = await tx.query(
    sql`
      SELECT ${subjectColumnsSql} FROM instances i
      WHERE i.id = ANY(${ids.map(String)}::bigint[]) AND (${owner ?? null}::int IS NULL OR i.account_id = ${owner ?? null})
      ORDER BY i.id FOR NO KEY UPDATE`,
    lockedRow,
  )
  return rows.map(toLockedInstance)
}

/**
 * Locks all instances that a market update of the machine may move, in the order of their ids. Locking some first, and those that
 * they displace later, would break that order. The lock on the machine keeps new rentals out.
 */
export async function lockLivingInstances(tx: Transaction, machineId: number): Promise<void> {
  await tx.execute(sql`
    SELECT FROM instances WHERE machine_id = ${machineId} AND destroyed_at IS NULL ORDER BY id FOR NO KEY UPDATE`)
}

/**
 * `lockInstances` together with all instances that market updates of the machines may move: see `lockLivingInstances`. Returns
 * only the former.
 */
export async function lockInstancesAndRivals(
  tx: Transaction,
  ids: readonly bigint[],
  owner: number,
  machines: readonly { id: number }[],
): Promise<LockedInstance[]> {
  const rows = await tx.query(
    sql`
      SELECT ${subjectColumnsSql} FROM instances i WHERE i.id = ANY(ARRAY(
        SELECT o.id FROM instances o WHERE o.id = ANY(${ids.map(String)}::bigint[]) AND o.account_id = ${owner}
        UNION ALL SELECT r.id FROM instances r WHERE r.machine_id = ANY(${machines.map(({ id }) => id)}::int[]) AND r.destroyed_at IS NULL
      )) ORDER BY i.id FOR NO KEY UPDATE`,
    lockedRow,
  )
  const asked = new Set(ids)
  return rows.filter(({ id, accountId }) => asked.has(id) && accountId === owner).map(toLockedInstance)
}

/** Locks the instances of an account that match a filter, at most `limit`, in the order of their ids. */
export async function lockMatchingInstances(
  tx: Transaction,
  actor: Pick<Actor, 'accountId'>,
  filter: InstanceFilter,
  limit: number,
): Promise<LockedInstance[]> {
  // A row that another transaction changes meanwhile is compared again once this transaction has its lock.
  const rows = await tx.query(
    withoutStatementName(sql`
      SELECT ${subjectColumnsSql} FROM instances i WHERE ${join(matchingInstancesSql(actor, filter), ' AND ')}
      ORDER BY i.id LIMIT ${limit} FOR NO KEY UPDATE`),
    lockedRow,
  )
  return rows.map(toLockedInstance)
}

const lockedRow = {
  ...{
    id: int8,
    label: nullable(text),
    targetState: enumeration<TargetState>(),
    status: enumeration<InstanceStatus>(),
  },
  ...{ destroyedAt: nullable(timestamptz), stopAt: nullable(timestamptz), accountId: int4, machineId: int4 },
  gpuPriceNanos: int8,
}
const subjectColumnsSql = columnsSql('i', lockedRow)

function toLockedInstance(row: RowOf<typeof lockedRow>): LockedInstance {
  const { accountId, machineId, gpuPriceNanos, ...subject } = row
  return { subject, accountId, machineId, gpuPriceNanos }
}

/**
 * Locks the instances of a target. Of a filter's matches, exactly the locked ones are changed. `rivalsOn` are locked machines
 * whose markets the caller updates: see `lockInstancesAndRivals`.
 */
export async function lockTarget(
  tx: Transaction,
  actor: Actor,
  target: InstanceTarget,
  { limit, rivalsOn }: { limit: number; rivalsOn: readonly { id: number }[] },
): Promise<LockedInstance[]> {
  if ('ids' in target && rivalsOn.length > 0)
    return await lockInstancesAndRivals(tx, target.ids, actor.accountId, rivalsOn)
  if ('ids' in target) return await lockInstances(tx, target.ids, actor.accountId)
  const locked = await lockMatchingInstances(tx, actor, target.filter, limit + 1)
  if (locked.length <= limit) return locked
  const matches = join(matchingInstancesSql(actor, target.filter), ' AND ')
  const statement = sql`SELECT count(*)::int AS count FROM instances i WHERE ${matches}`
  const [row] = await tx.query(withoutStatementName(statement), { count: int4 })
  throw tooManyMatches(row?.count ?? limit, limit)
}
