// Events as they happen, from a place in their order on.

import { Prisma } from '../database/generated/client.ts'
import type { Actor } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'
import { type Event, type EventFilter, isAskedFor, mayRead, type Position } from '../domain/events.ts'
import { parseCursor, printCursor } from '../domain/pages.ts'
import { authorise } from './authorise.ts'
import type { Deps } from './deps.ts'
import { eventColumns, toEvent } from './events-outbox.ts'
import { type Following, streamOf } from './feed.ts'

const { sql } = Prisma

export type EventEdge = { node: Event; cursor: string }

const batch = 200

export function watchServices({ database, feed }: Deps) {
  return {
    /**
     * Everything that the key may read, as it happens: after a cursor, also what happened since, without a gap; without
     * one, from now on.
     */
    async watch(actor: Actor, filter: EventFilter, cursor?: string | null): Promise<AsyncIterableIterator<EventEdge>> {
      authorise(actor, 'events.watch')
      const epoch = await readEpoch()
      const after = cursor ? placeOf(cursor, epoch) : undefined
      const wants = (event: Event) => isAskedFor(event, filter) && mayRead(actor, event)
      const following = await feed.follow(actor, { wants })
      return streamOf(following, edges(following))

      async function* edges({ from, next }: Following): AsyncGenerator<EventEdge> {
        for await (const event of after ? missed(actor, after, from) : [])
          if (wants(event)) yield edgeOf(event, epoch.value)
        for (let news = await next(); news; news = await next())
          yield* news.events.map(event => edgeOf(event, epoch.value))
      }
    },
  }

  async function readEpoch(): Promise<{ value: number; purged: Position }> {
    const [row] = await database.rows(sql`SELECT epoch, purged_xid::text, purged_id FROM outbox`)
    const [value, xid, id] = row as [number, string, bigint]
    return { value, purged: { xid: BigInt(xid), id } }
  }

  /** What happened to an account after one place, up to another before which nothing more will appear. */
  async function* missed({ accountId }: Actor, after: Position, upTo: Position): AsyncGenerator<Event> {
    for (let place = after; ; ) {
      const rows = await database.rows(sql`
        SELECT ${eventColumns} FROM events e WHERE e.account_id = ${accountId}
        AND (e.xid, e.id) > (${String(place.xid)}::xid8, ${String(place.id)}::bigint)
        AND (e.xid, e.id) <= (${String(upTo.xid)}::xid8, ${String(upTo.id)}::bigint)
        ORDER BY e.xid, e.id LIMIT ${batch}`)
      const events = rows.map(toEvent)
      yield* events
      const last = events.at(-1)
      if (!last || events.length < batch) return
      place = last
    }
  }
}

const scope = 'events'

export function edgeOf(node: Event, epoch: number): EventEdge {
  return { node, cursor: printCursor(scope, [epoch, String(node.xid), String(node.id)]) }
}

/** Where a cursor stands, if what follows it is still there. */
function placeOf(cursor: string, { value, purged }: { value: number; purged: Position }): Position {
  const [epoch, ...rest] = parseCursor(cursor, scope)
  const [xid, id] = rest.map(part => (typeof part === 'string' && /^\d{1,19}$/.test(part) ? BigInt(part) : undefined))
  if (typeof epoch !== 'number' || xid === undefined || id === undefined)
    throw new DomainError('INVALID_CURSOR', 'This is not a cursor of events.')
  const place = { xid, id }
  const tooOld = xid < purged.xid || (xid === purged.xid && id < purged.id)
  if (epoch === value && !tooOld) return place
  const message = 'Events after this cursor are not kept any more. Read what there is now, and begin without a cursor.'
  throw new DomainError('CURSOR_EXPIRED', message)
}
