// Makes passes over instances due.

import { Prisma } from '../../database/generated/client.ts'
import { writeTogether } from '../../database/together.ts'
import type { Transaction } from '../../database/transaction.ts'

const { sql } = Prisma

/**
 * Makes a pass due at once, after a change of what is desired of the instances or of their GPUs: a finding of an earlier pass
 * is outdated. The caller must have locked the instances.
 */
export async function makeInstancesDue(tx: Transaction, ids: readonly bigint[], at: Date): Promise<void> {
  const { madeDue } = await writeTogether(tx, dueWrites(ids, at))
  if (madeDue) tx.notifyAfterCommit('instances')
}

/** The write of `makeInstancesDue`, for `writeTogether`. */
export function dueWrites(ids: readonly bigint[], at: Date): Record<string, Prisma.Sql> {
  if (ids.length === 0) return {}
  return { madeDue: sql`${makeDueSql(sql`SELECT unnest(${ids.map(String)}::bigint[])`, at)} RETURNING 1` }
}

/** Makes the instances due whose ids a query selects. */
export function makeDueSql(ids: Prisma.Sql, at: Date): Prisma.Sql {
  return sql`
    UPDATE instance_looks SET generation = generation + 1, due_at = ${at}::timestamptz WHERE instance_id = ANY(ARRAY(${ids}))`
}
