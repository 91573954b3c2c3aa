// Events as they happen, from a place in their order on.

import { Prisma } from '../../database/generated/client.ts'
import { unnamed } from '../../database/rows.ts'
import type { Actor } from '../../domain/actor.ts'
import {
  checkEventFilter,
  type Event,
  type EventFilter,
  isAfter,
  isAskedFor,
  mayRead,
  type Position,
} from '../../domain/events/events.ts'
import { checkKept, type EventCursor, parseEventCursor, printEventCursor } from '../../domain/events/page.ts'
import { authorise } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { type Following, streamOf } from '../feed.ts'
import type { EventEdge } from './history.ts'
import { eventColumns, filterSql, keptNow, placeSql, readableSql, toEvent, toKept } from './sql.ts'

const { sql, join } = Prisma

const batch = 200

export function watchServices({ database, feed }: Deps) {
  return {
    /**
     * Everything that the key may read, as it happens: after a cursor, also what happened since, without a gap; without
     * one, from now on.
     */
    async watch(actor: Actor, filter: EventFilter, cursor?: string | null): Promise<AsyncIterableIterator<EventEdge>> {
      authorise(actor, 'events.watch')
      checkEventFilter(filter)
      const after = cursor == null ? undefined : parseEventCursor(cursor)
      const kept = toKept((await database.rows(keptNow))[0])
      if (after) checkKept(after, kept)
      // The place where it joins may lie before the cursor: another gateway has read further.
      const wants = (event: Event) =>
        (!after || isAfter(event, after)) && isAskedFor(event, filter) && mayRead(actor, event)
      const following = await feed.follow(actor, { wants })
      return streamOf(following, edges(following))

      async function* edges({ from, next }: Following): AsyncGenerator<EventEdge> {
        for await (const event of after ? missed(actor, filter, after, from) : []) yield edgeOf(event, kept.epoch)
        for (let news = await next(); news; news = await next())
          yield* news.events.map(event => edgeOf(event, kept.epoch))
      }
    },
  }

  /** What is wanted of what happened after one place, up to another before which nothing more will appear. */
  async function* missed(
    { accountId, permissions }: Actor,
    filter: EventFilter,
    after: EventCursor,
    upTo: Position,
  ): AsyncGenerator<Event> {
    const wanted = join([sql`e.account_id = ${accountId}`, readableSql(permissions), ...filterSql(filter)], ' AND ')
    for (let place = after; ; ) {
      const statement = sql`
        SELECT k.*, e.* FROM (${keptNow}) k LEFT JOIN LATERAL (
          SELECT ${eventColumns} FROM events e WHERE ${wanted}
          AND (e.xid, e.id) > ${placeSql(place)} AND (e.xid, e.id) <= ${placeSql(upTo)}
          ORDER BY e.xid, e.id LIMIT ${batch}
        ) e ON true`
      const rows = await database.rows(unnamed(statement))
      // Between two readings some may have gone.
      checkKept(place, toKept(rows[0]))
      const events = rows.filter(([, , , , xid]) => xid !== null).map(row => toEvent(row.slice(4)))
      yield* events
      const last = events.at(-1)
      if (!last || events.length < batch) return
      place = { ...last, epoch: after.epoch }
    }
  }
}

function edgeOf(node: Event, epoch: number): EventEdge {
  return { node, cursor: printEventCursor(node, epoch) }
}
