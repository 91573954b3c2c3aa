// Reads events without gaps, in the order in which their transactions began to write (xid). An open transaction may
// still write events, so a read stops before the oldest open transaction.

import { Prisma } from '../../database/generated/client.ts'
import { int4, int8, jsonb, nullable, type RowOf, text } from '../../database/row-types.ts'
import type { Permissions } from '../../domain/accounts/permissions/permissions.ts'
import type { EventCursor } from '../../domain/events/cursor.ts'
import type { Event, Position } from '../../domain/events/events.ts'
import type { DataDeps } from '../deps.ts'
import { changesClaimSql, rivalsOfEventSql } from '../instances/sql.ts'
import { eventColumns, keptRangeSql, outerEventShape, positionSql, toEvents } from './sql.ts'

const { sql } = Prisma

export type Outbox = ReturnType<typeof outboxServices>

/** One read returns at most `batchSize` events. */
export function outboxServices({ database }: DataDeps, batchSize = 500) {
  return {
    /** The position before which no event can appear anymore. */
    async readHorizon(): Promise<EventCursor> {
      const [row] = await database.query(sql`SELECT k.horizon::text, k.epoch FROM (${keptRangeSql}) k`, horizonShape)
      return cursorAt(row)
    },

    /** These accounts' events after a position, and the position up to which they are complete. */
    async readAfter(after: Position, accountIds: number[]): Promise<{ events: Event[]; reached: EventCursor }> {
      const rows = await database.query(
        sql`
        WITH kept AS MATERIALIZED (${keptRangeSql})
        SELECT k.horizon::text, k.epoch, e.* FROM kept k LEFT JOIN LATERAL (
          SELECT ${eventColumns} FROM events e
          WHERE (e.xid, e.id) > ${positionSql(after)} AND e.xid < k.horizon
          AND e.account_id = ANY(${accountIds}::int[]) ORDER BY e.xid, e.id LIMIT ${batchSize}
        ) e ON true`,
        { ...horizonShape, ...outerEventShape },
      )
      const events = toEvents(rows)
      const horizon = cursorAt(rows[0])
      const last = events.length === batchSize ? events.at(-1) : undefined
      return { events, reached: last ? { xid: last.xid, id: last.id, epoch: horizon.epoch } : horizon }
    },

    /** Expires all cursors, once per epoch, however many gateways call this. */
    async endEpoch(epoch: number): Promise<void> {
      await database.execute(sql`UPDATE outbox SET epoch = epoch + 1 WHERE epoch = ${epoch}`)
    },

    /** Machines whose offers last changed in a transaction from `from` (inclusive) to `before` (exclusive). */
    async findChangedMachines(from: bigint, before: bigint): Promise<number[]> {
      const rows = await database.query(
        sql`SELECT id FROM machines WHERE offers_xid >= ${String(from)}::xid8 AND offers_xid < ${String(before)}::xid8`,
        { id: int4 },
      )
      return rows.map(({ id }) => id)
    },

    /**
     * Interruptible instances of these accounts on machines where a claim may have changed in a transaction from `from`
     * (inclusive) to `before` (exclusive). Which bid wins their GPUs may be new.
     */
    async findRebids(from: bigint, before: bigint, accountIds: number[]) {
      return await database.query(
        sql`
        SELECT DISTINCT i.account_id, i.id AS instance_id FROM events e ${rivalsOfEventSql}
        WHERE e.xid >= ${String(from)}::xid8 AND e.xid < ${String(before)}::xid8 AND ${changesClaimSql}
        AND i.account_id = ANY(${accountIds}::int[])`,
        { accountId: int4, instanceId: int8 },
      )
    },

    /** The permissions that these keys have now. Keys that are not active are left out. */
    async findActiveKeys(publicIds: string[]): Promise<Map<string, Permissions | null>> {
      const rows = await database.query(
        sql`
        SELECT public_id, permissions FROM api_keys WHERE public_id = ANY(${publicIds}::text[]) AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > ${database.nowSql})`,
        { publicId: text, permissions: nullable(jsonb<Permissions>()) },
      )
      return new Map(rows.map(({ publicId, permissions }) => [publicId, permissions]))
    },
  }
}

const horizonShape = { horizon: text, epoch: int4 }

/** The place before which no event can appear anymore. */
function cursorAt(row: RowOf<typeof horizonShape> | undefined): EventCursor {
  if (!row) throw new Error('The table outbox has no row.')
  return { xid: BigInt(row.horizon), id: 0n, epoch: row.epoch }
}
