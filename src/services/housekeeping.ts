// Deletes expired rows in the background and in batches, so that no request has to delete them.

import type { Database } from '../database/client.ts'
import { Prisma } from '../database/generated/client.ts'
import { locks } from '../database/locks.ts'
import { bool } from '../database/row-types.ts'
import { transaction } from '../database/transaction.ts'
import { keptHistoryMs } from '../domain/machines/reliability.ts'
import type { DataDeps } from './deps.ts'
import { keyExpirySql } from './idempotency.ts'

const { sql } = Prisma

export function housekeepingServices({ database }: DataDeps) {
  return {
    /** Deletes expired idempotency keys. Skips a key that a request reserves again at this moment. */
    async purgeIdempotencyKeys(limit: number): Promise<number> {
      return await deleteUnlessLocked(
        database,
        sql`WITH expired AS MATERIALIZED (
            SELECT account_id, key FROM idempotency_keys WHERE created_at <= ${keyExpirySql(database.nowSql)}
            ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
          ) DELETE FROM idempotency_keys k USING expired e WHERE k.account_id = e.account_id AND k.key = e.key`,
      )
    },

    /** Deletes results whose links have expired. */
    async purgeResults(limit: number): Promise<number> {
      return await deleteUnlessLocked(
        database,
        sql`DELETE FROM results WHERE token_hash IN (
            SELECT token_hash FROM results WHERE expires_at <= ${database.nowSql} ORDER BY expires_at LIMIT ${limit}
          )`,
      )
    },

    /** Deletes calls of hosts whose askers died before they read the answer. */
    async purgeAgentRequests(limit: number): Promise<number> {
      return await deleteUnlessLocked(
        database,
        sql`DELETE FROM agent_requests WHERE (machine_id, id) IN (
            SELECT machine_id, id FROM agent_requests WHERE deadline <= ${database.nowSql} LIMIT ${limit}
          )`,
      )
    },

    /** Deletes failed starts that count for nothing anymore. */
    async purgeFailedStarts(limit: number): Promise<number> {
      const since = sql`${database.nowSql} - ${keptHistoryMs} * interval '1 millisecond'`
      return await deleteUnlessLocked(
        database,
        sql`DELETE FROM failed_starts WHERE instance_id IN (
            SELECT instance_id FROM failed_starts WHERE at <= ${since} ORDER BY at LIMIT ${limit}
          )`,
      )
    },

    /** Deletes days on which machines did not answer that count for nothing anymore. */
    async purgeSilentDays(limit: number): Promise<number> {
      const first = sql`(${database.nowSql} - ${keptHistoryMs} * interval '1 millisecond')::date`
      return await deleteUnlessLocked(
        database,
        sql`DELETE FROM silent_days WHERE (machine_id, day) IN (
            SELECT machine_id, day FROM silent_days WHERE day < ${first} ORDER BY day LIMIT ${limit}
          )`,
      )
    },

    /** Deletes simulated containers of removed instances. A slow gateway may have created one after the removal. */
    async purgeSimulatedContainers(limit: number): Promise<number> {
      return await deleteUnlessLocked(
        database,
        sql`DELETE FROM simulated_containers WHERE instance_id IN (
            SELECT c.instance_id FROM simulated_containers c LEFT JOIN instances i ON i.id = c.instance_id
            WHERE i.id IS NULL OR i.removed_at IS NOT NULL LIMIT ${limit}
          )`,
      )
    },
  }
}

/** Returns how many rows it deleted: 0 while another gateway does the housekeeping. */
async function deleteUnlessLocked(database: Database, deletion: Prisma.Sql): Promise<number> {
  return await transaction(database, async tx => {
    const statement = sql`SELECT pg_try_advisory_xact_lock(${locks.housekeeping}::bigint) AS is_locked`
    const [lock] = await tx.query(statement, { isLocked: bool })
    return lock?.isLocked ? await tx.execute(deletion) : 0
  })
}
