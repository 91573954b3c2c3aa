// Streams of events as they happen, now or after a cursor.

import { Prisma } from '../../database/generated/client.ts'
import { readingOf } from '../../database/selection/reading.ts'
import { withoutStatementName } from '../../database/statement-names.ts'
import type { Actor } from '../../domain/actor.ts'
import {
  checkCursorNotExpired,
  type EventCursor,
  parseEventCursor,
  printEventCursor,
} from '../../domain/events/cursor.ts'
import {
  canReadEvent,
  checkEventFilter,
  type Event,
  type EventFilter,
  isAfter,
  matchesEventFilter,
  type Position,
} from '../../domain/events/events.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { createStream, type FeedSubscription } from '../feed.ts'
import {
  eventsIn,
  filterSql,
  keptColumns,
  keptEventSource,
  keptRangeSql,
  keptShape,
  positionSql,
  readableSql,
  toKeptRange,
  wholeEvent,
  wholeKeptRange,
} from './sql.ts'

const { sql, join } = Prisma

const batchSize = 200
const reading = readingOf(keptEventSource, { ...wholeKeptRange, event: { select: wholeEvent } })

/** All streams share the events that one read found, so a stream has whole events, whatever its reader selects. */
export type EventEdge = { node: Event; cursor: string }

export function eventWatchServices({ database, feed }: Deps) {
  return {
    /**
     * Streams the events that the key may read. With a cursor, the stream starts after the cursor and leaves no gap;
     * without a cursor, the stream starts now.
     */
    async watch(actor: Actor, filter: EventFilter, cursor?: string | null): Promise<AsyncIterableIterator<EventEdge>> {
      authorize(actor, 'events.watch')
      checkEventFilter(filter)
      const after = cursor == null ? undefined : parseEventCursor(cursor)
      if (after) await checkCursor(after)
      // The cursor may come from another gateway that has read further, and so lie after the start position.
      const includes = (event: Event) =>
        (!after || isAfter(event, after)) && matchesEventFilter(event, filter) && canReadEvent(actor, event)
      const subscription = await feed.subscribe(actor, { includes })
      return createStream(subscription, readEdges(subscription))

      async function* readEdges({ startPosition, next }: FeedSubscription): AsyncGenerator<EventEdge> {
        for await (const event of after ? readMissedEvents(actor, filter, after, startPosition) : [])
          yield edgeOf(event, startPosition.epoch)
        for (let update = await next(); update; update = await next())
          yield* update.events.map(event => edgeOf(event, startPosition.epoch))
      }
    },
  }

  async function checkCursor(after: EventCursor): Promise<void> {
    const rows = await database.query(sql`SELECT ${keptColumns} FROM (${keptRangeSql}) k`, keptShape)
    checkCursorNotExpired(after, toKeptRange(rows[0]))
  }

  /** The matching events after the cursor, up to the stream's start position. */
  async function* readMissedEvents(
    { accountId, permissions }: Actor,
    filter: EventFilter,
    after: EventCursor,
    upTo: Position,
  ): AsyncGenerator<Event> {
    const wanted = join([sql`e.account_id = ${accountId}`, readableSql(permissions), ...filterSql(filter)], ' AND ')
    for (let position = after; ; ) {
      const statement = sql`
        SELECT ${reading.columns} FROM (${keptRangeSql}) k LEFT JOIN LATERAL (
          SELECT e.* FROM events e WHERE ${wanted}
          AND (e.xid, e.id) > ${positionSql(position)} AND (e.xid, e.id) <= ${positionSql(upTo)}
          ORDER BY e.xid, e.id LIMIT ${batchSize}
        ) e ON true`
      const rows = await database.read(withoutStatementName(statement), reading)
      // Retention may delete events between two reads.
      checkCursorNotExpired(position, toKeptRange(rows[0]))
      const events = eventsIn(rows)
      yield* events
      const last = events.at(-1)
      if (!last || events.length < batchSize) return
      position = { ...last, epoch: after.epoch }
    }
  }
}

function edgeOf(node: Event, epoch: number): EventEdge {
  return { node, cursor: printEventCursor(node, epoch) }
}
