// What happened, in pages. Only what is settled is in them: nothing appears later before what was read, so that a page's
// last cursor leaves nothing out wherever it is read on from.

import { Prisma } from '../../database/generated/client.ts'
import { unnamed } from '../../database/rows.ts'
import type { Actor } from '../../domain/actor.ts'
import { checkEventFilter, type Event, type EventFilter } from '../../domain/events/events.ts'
import { checkKept, orNewest, parseEventCursor, printEventCursor } from '../../domain/events/page.ts'
import { type PageArguments, type PageOf, pageOf, readPage } from '../../domain/pages.ts'
import { authorise, authoriseEach } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { eventColumns, filterSql, isKnownSql, keptNow, placeSql, readableSql, toEvent, toKept } from './sql.ts'

const { sql, join, raw } = Prisma

export type EventEdge = { node: Event; cursor: string }
/** `endCursor` is where to read on: also of a page that is empty, where what comes after it is yet to happen. */
export type EventPage = PageOf<Event> & { endCursor: string | null }
/** A page of an instance's events. */
export type InstanceEvents = { instanceId: bigint; page: PageArguments }

/** All of the account's events at once. */
const together = sql`(VALUES (NULL::bigint))`

export function historyServices({ database }: DataDeps) {
  return {
    async page(actor: Actor, filter: EventFilter, page: PageArguments): Promise<EventPage> {
      authorise(actor, 'events.list')
      checkEventFilter(filter)
      const pages = await read(together, [...of(actor), ...filterSql(filter)], page)
      return pages.get(null) as EventPage
    },

    /** Who may read an instance's events may read all of them. Whoever asks has found the instance. */
    async pagesOf<Asked extends InstanceEvents>(actor: Actor, asked: readonly Asked[]): Promise<Map<Asked, EventPage>> {
      const ids = asked.map(({ instanceId }) => instanceId)
      authoriseEach(actor, 'instances.events', ids)
      const answers = new Map<Asked, EventPage>()
      // As a rule all are asked for the same page.
      for (const same of Map.groupBy(asked, ({ page }) => JSON.stringify(page)).values()) {
        const each = sql`unnest(${[...new Set(same.map(({ instanceId }) => String(instanceId)))]}::bigint[])`
        const mine = sql`e.account_id = ${actor.accountId}`
        const conditions = [mine, isKnownSql, sql`e.instance_id = g.id`]
        const pages = await read(each, conditions, same[0]?.page ?? {})
        for (const one of same) answers.set(one, pages.get(one.instanceId) as EventPage)
      }
      return answers
    },

    async byIds(actor: Actor, ids: readonly bigint[]): Promise<Event[]> {
      authorise(actor, 'events.list')
      const conditions = join([...of(actor), sql`e.id = ANY(${ids.map(String)}::bigint[])`], ' AND ')
      const statement = sql`SELECT ${eventColumns} FROM events e WHERE ${conditions}`
      return (await database.rows(unnamed(statement))).map(toEvent)
    },
  }

  /** The same page of several histories, by what they are of. */
  async function read(
    groups: Prisma.Sql,
    conditions: Prisma.Sql[],
    page: PageArguments,
  ): Promise<Map<unknown, EventPage>> {
    const { limit, backward, cursor } = readPage(orNewest(page))
    const place = cursor === undefined ? undefined : parseEventCursor(cursor)
    const [direction, beyond] = backward ? [raw('DESC'), raw('<')] : [raw('ASC'), raw('>')]
    const all = [...conditions, ...(place ? [sql`(e.xid, e.id) ${beyond} ${placeSql(place)}`] : [])]
    const statement = sql`
      WITH kept AS MATERIALIZED (${keptNow})
      SELECT k.epoch, k.purged_xid, k.purged_id, k.xmin::text, g.id, e.*
      FROM kept k CROSS JOIN ${groups} AS g(id) LEFT JOIN LATERAL (
        SELECT ${eventColumns} FROM events e
        WHERE e.xid < k.xmin AND (e.xid, e.id) > (k.purged_xid::xid8, k.purged_id) AND ${join(all, ' AND ')}
        ORDER BY e.xid ${direction}, e.id ${direction} LIMIT ${limit + 1}
      ) e ON true`
    const rows = await database.rows(unnamed(statement))
    const kept = toKept(rows[0])
    if (place) checkKept(place, kept)
    const horizon = printEventCursor({ xid: BigInt(rows[0]?.[3] as string), id: 0n }, kept.epoch)
    const isOver = !backward || cursor === undefined
    const toPage = (of: unknown[][]): EventPage => {
      const events = of.filter(([, , , , , xid]) => xid !== null).map(row => toEvent(row.slice(5)))
      const cut = pageOf(events, { limit, backward, cursor }, node => printEventCursor(node, kept.epoch))
      return { ...cut, endCursor: cut.edges.at(-1)?.cursor ?? (isOver ? horizon : null) }
    }
    return new Map([...Map.groupBy(rows, row => row[4])].map(([id, of]) => [id, toPage(of)]))
  }
}

/** The account's events that the key may read. */
function of({ accountId, permissions }: Actor): Prisma.Sql[] {
  return [sql`e.account_id = ${accountId}`, readableSql(permissions)]
}
