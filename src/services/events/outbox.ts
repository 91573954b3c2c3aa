// Reads events without gaps, in the order in which their transactions began to write (xid). An open transaction may
// still write events, so a read stops before the oldest open transaction.

import { Prisma } from '../../database/generated/client.ts'
import { nextEpochSql } from '../../database/history/new-line.ts'
import { int4, int8, jsonb, nullable, text } from '../../database/row-types.ts'
import { readingOf } from '../../database/selection/reading.ts'
import type { Permissions } from '../../domain/accounts/permissions/permissions.ts'
import type { EventCursor } from '../../domain/events/cursor.ts'
import type { Event, Position } from '../../domain/events/events.ts'
import { activeKeySql } from '../accounts/api-keys/find.ts'
import type { DataDeps } from '../deps.ts'
import { changesClaimSql, rivalsOfEventSql } from '../instances/sql.ts'
import { eventsIn, keptEventSource, keptRangeSql, positionSql, wholeEvent } from './sql.ts'

const { sql } = Prisma

export type Outbox = ReturnType<typeof outboxServices>

/** One read returns at most `batchSize` events. */
export function outboxServices({ database }: DataDeps, batchSize = 500) {
  return {
    /** The position before which no event can appear anymore. */
    async readHorizon(): Promise<EventCursor> {
      const { columns } = horizonReading
      const [row] = await database.read(sql`SELECT ${columns} FROM (${keptRangeSql}) k`, horizonReading)
      return cursorAt(row)
    },

    /** These accounts' events after a position, and the position up to which they are complete. */
    async readAfter(after: Position, accountIds: number[]): Promise<{ events: Event[]; reached: EventCursor }> {
      const rows = await database.read(
        sql`
        WITH kept AS MATERIALIZED (${keptRangeSql})
        SELECT ${eventReading.columns} FROM kept k LEFT JOIN LATERAL (
          SELECT e.* FROM events e
          WHERE (e.xid, e.id) > ${positionSql(after)} AND e.xid < k.horizon
          AND e.account_id = ANY(${accountIds}::int[]) ORDER BY e.xid, e.id LIMIT ${batchSize}
        ) e ON true`,
        eventReading,
      )
      const events = eventsIn(rows)
      const end = cursorAt(rows[0])
      const last = events.length === batchSize ? events.at(-1) : undefined
      return { events, reached: last ? { xid: last.xid, id: last.id, epoch: end.epoch } : end }
    },

    /** Expires all cursors, once per epoch, however many gateways call this. */
    async endEpoch(epoch: number): Promise<void> {
      await database.execute(sql`UPDATE outbox SET epoch = ${Prisma.raw(nextEpochSql)} WHERE epoch = ${epoch}`)
    },

    /** Machines whose offers last changed in a transaction from `from` (inclusive) to `before` (exclusive). */
    async findChangedMachines(from: bigint, before: bigint): Promise<number[]> {
      const rows = await database.query(
        sql`SELECT machine_id FROM market_changes WHERE xid >= ${String(from)}::xid8 AND xid < ${String(before)}::xid8`,
        { machineId: int4 },
      )
      return rows.map(({ machineId }) => machineId)
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
        SELECT public_id, permissions FROM api_keys k
        WHERE public_id = ANY(${publicIds}::text[]) AND ${activeKeySql(database.nowSql)}`,
        { publicId: text, permissions: nullable(jsonb<Permissions>()) },
      )
      return new Map(rows.map(({ publicId, permissions }) => [publicId, permissions]))
    },
  }
}

const horizon = { horizon: true, epoch: true } as const
const horizonReading = readingOf(keptEventSource, horizon)
const eventReading = readingOf(keptEventSource, { ...horizon, event: { select: wholeEvent } })

/** The place before which no event can appear anymore. */
function cursorAt(row: { horizon: string; epoch: number } | undefined): EventCursor {
  if (!row) throw new Error('The table outbox has no row.')
  return { xid: BigInt(row.horizon), id: 0n, epoch: row.epoch }
}
