import { Prisma } from '../../database/generated/client.ts'
import { int4 } from '../../database/row-types.ts'
import { transaction } from '../../database/transaction.ts'
import type { DataDeps } from '../deps.ts'

const { sql } = Prisma

const dayMs = 86_400_000

export function retentionServices({ database }: DataDeps, retentionDays: number) {
  return {
    /**
     * Deletes up to `limit` expired events with their webhook deliveries, and returns the number of events. Deletes
     * from the front of the order, so that one position separates deleted events from kept ones.
     */
    async purge(limit: number): Promise<number> {
      return await transaction(database, async tx => {
        const oldest = new Date(tx.at.getTime() - retentionDays * dayMs)
        // If another gateway holds the lock, that gateway is already purging.
        const isFree = await tx.execute(sql`SELECT FROM outbox FOR UPDATE SKIP LOCKED`)
        if (!isFree) return 0
        const [row] = await tx.query(
          sql`
          WITH front AS MATERIALIZED (
            SELECT xid, id, bool_and(created_at < ${oldest}::timestamptz) OVER (ORDER BY xid, id) AS goes FROM (
              SELECT xid, id, created_at FROM events WHERE xid < pg_snapshot_xmin(pg_current_snapshot())
              ORDER BY xid, id LIMIT ${limit}
            ) first
          ), gone AS (
            DELETE FROM events WHERE id = ANY(ARRAY(SELECT id FROM front WHERE goes))
          ), last AS (
            SELECT xid, id FROM front WHERE goes ORDER BY xid DESC, id DESC LIMIT 1
          ), noted AS (
            UPDATE outbox SET purged_xid = l.xid, purged_id = l.id FROM last l
          )
          SELECT count(*)::int FROM front WHERE goes`,
          { count: int4 },
        )
        return row?.count ?? 0
      })
    },
  }
}
