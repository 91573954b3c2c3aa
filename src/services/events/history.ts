// Pages of past events. They end at the horizon, before which no event can appear later. A reader that continues after a
// page's last cursor therefore misses nothing.

import { Prisma } from '../../database/generated/client.ts'
import { int8, nullable, text } from '../../database/row-types.ts'
import { withoutStatementName } from '../../database/statement-names.ts'
import type { Actor } from '../../domain/actor.ts'
import {
  checkCursorNotExpired,
  parseEventCursor,
  printEventCursor,
  withDefaultPage,
} from '../../domain/events/cursor.ts'
import { checkEventFilter, type Event, type EventFilter } from '../../domain/events/events.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { authorize, authorizeEach } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import {
  eventColumns,
  eventShape,
  filterSql,
  isKnownKindSql,
  keptColumns,
  keptRangeSql,
  keptShape,
  outerEventShape,
  positionSql,
  readableSql,
  toEvent,
  toEvents,
  toKeptRange,
} from './sql.ts'

const { sql, join, raw } = Prisma

export type EventEdge = { node: Event; cursor: string }
/**
 * Reading continues after `endCursor`. An empty page has an `endCursor`, too, when only future events can follow the
 * page.
 */
export type EventPage = PageResult<Event> & { endCursor: string | null }
export type InstanceEventsQuery = { instanceId: bigint; page: PageArguments }

/** One group for all events of the account. */
const ungrouped = sql`(VALUES (NULL::bigint))`

export function eventHistoryServices({ database }: DataDeps) {
  return {
    async page(actor: Actor, filter: EventFilter, page: PageArguments): Promise<EventPage> {
      authorize(actor, 'events.list')
      checkEventFilter(filter)
      const pages = await readPages(ungrouped, [...readableByActor(actor), ...filterSql(filter)], page)
      return pages.get(null) as EventPage
    },

    /** A key that may read an instance's events may read all of them. The caller has already read the instance. */
    async instancePages<Query extends InstanceEventsQuery>(
      actor: Actor,
      queries: readonly Query[],
    ): Promise<Map<Query, EventPage>> {
      const ids = queries.map(({ instanceId }) => instanceId)
      authorizeEach(actor, 'instances.events', ids)
      const pageByQuery = new Map<Query, EventPage>()
      // Usually all queries ask for the same page.
      for (const same of Map.groupBy(queries, ({ page }) => JSON.stringify(page)).values()) {
        const instanceGroups = sql`unnest(${[...new Set(same.map(({ instanceId }) => String(instanceId)))]}::bigint[])`
        const mine = sql`e.account_id = ${actor.accountId}`
        const conditions = [mine, isKnownKindSql, sql`e.instance_id = g.id`]
        const pages = await readPages(instanceGroups, conditions, same[0]?.page ?? {})
        for (const one of same) pageByQuery.set(one, pages.get(one.instanceId) as EventPage)
      }
      return pageByQuery
    },

    async byIds(actor: Actor, ids: readonly bigint[]): Promise<Event[]> {
      authorize(actor, 'events.list')
      const conditions = join([...readableByActor(actor), sql`e.id = ANY(${ids.map(String)}::bigint[])`], ' AND ')
      const statement = sql`SELECT ${eventColumns} FROM events e WHERE ${conditions}`
      return (await database.query(withoutStatementName(statement), eventShape)).map(toEvent)
    },
  }

  /** Reads the same page for every group. The result is keyed by the group's id. */
  async function readPages(
    groups: Prisma.Sql,
    conditions: Prisma.Sql[],
    page: PageArguments,
  ): Promise<Map<bigint | null, EventPage>> {
    const { limit, backward, cursor } = parsePage(withDefaultPage(page))
    const place = cursor === undefined ? undefined : parseEventCursor(cursor)
    const [direction, comparison] = backward ? [raw('DESC'), raw('<')] : [raw('ASC'), raw('>')]
    const all = [...conditions, ...(place ? [sql`(e.xid, e.id) ${comparison} ${positionSql(place)}`] : [])]
    const statement = sql`
      WITH kept AS MATERIALIZED (${keptRangeSql})
      SELECT ${keptColumns}, k.horizon::text, g.id AS group_id, e.*
      FROM kept k CROSS JOIN ${groups} AS g(id) LEFT JOIN LATERAL (
        SELECT ${eventColumns} FROM events e
        WHERE e.xid < k.horizon AND (e.xid, e.id) > (k.purged_xid::xid8, k.purged_id) AND ${join(all, ' AND ')}
        ORDER BY e.xid ${direction}, e.id ${direction} LIMIT ${limit + 1}
      ) e ON true`
    const shape = { ...keptShape, horizon: text, groupId: nullable(int8), ...outerEventShape }
    const rows = await database.query(withoutStatementName(statement), shape)
    const kept = toKeptRange(rows[0])
    if (place) checkCursorNotExpired(place, kept)
    const horizonCursor = printEventCursor({ xid: BigInt(rows[0]?.horizon ?? 0), id: 0n }, kept.epoch)
    const reachesHorizon = !backward || cursor === undefined
    const toPage = (group: typeof rows): EventPage => {
      const cut = pageOf(toEvents(group), { limit, backward, cursor }, node => printEventCursor(node, kept.epoch))
      return { ...cut, endCursor: cut.edges.at(-1)?.cursor ?? (reachesHorizon ? horizonCursor : null) }
    }
    return new Map([...Map.groupBy(rows, ({ groupId }) => groupId)].map(([id, group]) => [id, toPage(group)]))
  }
}

/** The account's events that the key may read. */
function readableByActor({ accountId, permissions }: Actor): Prisma.Sql[] {
  return [sql`e.account_id = ${accountId}`, readableSql(permissions)]
}
