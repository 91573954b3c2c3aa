// Reads events in the order in which they can be read without a gap: transactions that are over, by the order in which
// they began to write. Whatever is still open may yet write something, so nothing from it on is read.

import { Prisma } from '../../database/generated/client.ts'
import type { EventCursor } from '../../domain/events/cursor.ts'
import type { Event, Position } from '../../domain/events/events.ts'
import type { DataDeps } from '../deps.ts'
import { eventColumns, eventHorizonSql, positionSql, toEvent } from './sql.ts'

const { sql } = Prisma

export type Outbox = ReturnType<typeof outboxServices>

/** `batch` events are read at a time. */
export function outboxServices({ database }: DataDeps, batchSize = 500) {
  return {
    /** The place before which nothing more will appear. */
    async readHorizon(): Promise<EventCursor> {
      const [row] = await database.rows(sql`SELECT xmin::text, epoch FROM (${eventHorizonSql}) k`)
      return { xid: BigInt(row?.[0] as string), id: 0n, epoch: row?.[1] as number }
    },

    /** What these accounts' events are after a place, and the place up to which that is all. */
    async readAfter(after: Position, accountIds: number[]): Promise<{ events: Event[]; reached: EventCursor }> {
      const rows = await database.rows(sql`
        WITH horizon AS MATERIALIZED (${eventHorizonSql})
        SELECT h.xmin::text, h.epoch, e.* FROM horizon h LEFT JOIN LATERAL (
          SELECT ${eventColumns} FROM events e
          WHERE (e.xid, e.id) > ${positionSql(after)} AND e.xid < h.xmin
          AND e.account_id = ANY(${accountIds}::int[]) ORDER BY e.xid, e.id LIMIT ${batchSize}
        ) e ON true`)
      const events = rows.filter(([, , xid]) => xid !== null).map(row => toEvent(row.slice(2)))
      const [xmin, epoch] = rows[0] as [string, number]
      const last = events.length === batchSize ? events.at(-1) : undefined
      return { events, reached: { xid: last?.xid ?? BigInt(xmin), id: last?.id ?? 0n, epoch } }
    },

    /** Has all cursors expire, once for all gateways that find an epoch over. */
    async endEpoch(epoch: number): Promise<void> {
      await database.rows(sql`UPDATE outbox SET epoch = epoch + 1 WHERE epoch = ${epoch}`)
    },

    /** The machines whose offers were last changed by transactions from one on, before another. */
    async findChangedMachines(from: bigint, before: bigint): Promise<number[]> {
      const rows = await database.rows(sql`
        SELECT id FROM machines WHERE offers_xid >= ${String(from)}::xid8 AND offers_xid < ${String(before)}::xid8`)
      return rows.map(([id]) => id as number)
    },

    /** Which of these keys let their bearer in now. */
    async findActiveKeys(publicIds: string[]): Promise<Set<string>> {
      const rows = await database.rows(sql`
        SELECT public_id FROM api_keys WHERE public_id = ANY(${publicIds}::text[]) AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > ${database.now})`)
      return new Set(rows.map(([publicId]) => publicId as string))
    },
  }
}
