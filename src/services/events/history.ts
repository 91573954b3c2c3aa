// Pages of past events. They end at the horizon, before which no event can appear later. A reader that continues after a
// page's last cursor therefore misses nothing.

import { Prisma } from '../../database/generated/client.ts'
import { readingOf } from '../../database/selection/reading.ts'
import { nameIfRepeated, withoutStatementName } from '../../database/statement-names.ts'
import type { Actor } from '../../domain/actor.ts'
import {
  checkCursorNotExpired,
  parseEventCursor,
  printEventCursor,
  withDefaultPage,
} from '../../domain/events/cursor.ts'
import { checkEventFilter, type EventFilter, isAfter } from '../../domain/events/events.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { authorize, authorizeEach } from '../authorize.ts'
import type { ReadDeps } from '../deps.ts'
import { type Reads, readStale } from '../reads/stale.ts'
import { rangeOfAccountSql, rangeSql } from './page-range.ts'
import {
  type EventSelect,
  eventSource,
  eventsIn,
  filterSql,
  isKnownKindSql,
  keptEventSource,
  keptRangeSql,
  readableSql,
  type SelectedEvent,
  toKeptRange,
  wholeKeptRange,
} from './sql.ts'

const { sql, join } = Prisma

/**
 * Reading continues after `endCursor`. An empty page has an `endCursor`, too, when only future events can follow the
 * page.
 */
export type EventPage<Select> = PageResult<SelectedEvent<Select>> & { endCursor: string | null }
export type InstanceEventsQuery = { instanceId: bigint; page: PageArguments }

/** One group for all events of the account. */
const ungrouped = sql`(VALUES (NULL::bigint))`

export function eventHistoryServices(deps: ReadDeps) {
  const { database } = deps
  return {
    async page<const Select extends EventSelect>(
      actor: Actor,
      filter: EventFilter,
      page: PageArguments,
      select: Select,
    ): Promise<EventPage<Select>> {
      authorize(actor, 'events.list')
      checkEventFilter(filter)
      // Events of few subjects are found by their subjects, and all others by the account.
      const [conditions, account] = filter.subjects
        ? [[...readableByActor(actor), ...filterSql(filter)], undefined]
        : [[readableSql(actor.permissions), ...filterSql(filter)], actor.accountId]
      const pages = await readStale(deps, from => readPages(from, ungrouped, conditions, page, select, account))
      return pages.get(null) as EventPage<Select>
    },

    /** A key that may read an instance's events may read all of them. The caller has already read the instance. */
    async instancePages<Query extends InstanceEventsQuery, const Select extends EventSelect>(
      actor: Actor,
      queries: readonly Query[],
      select: Select,
    ): Promise<Map<Query, EventPage<Select>>> {
      const ids = queries.map(({ instanceId }) => instanceId)
      authorizeEach(actor, 'instances.events', ids)
      const pageByQuery = new Map<Query, EventPage<Select>>()
      // Usually all queries ask for the same page.
      for (const same of Map.groupBy(queries, ({ page }) => JSON.stringify(page)).values()) {
        const instanceGroups = sql`unnest(${[...new Set(same.map(({ instanceId }) => String(instanceId)))]}::bigint[])`
        const mine = sql`e.account_id = ${actor.accountId}`
        const conditions = [mine, isKnownKindSql, sql`e.subject_type = 'Instance' AND e.subject_id = g.id`]
        const pages = await readStale(deps, from =>
          readPages(from, instanceGroups, conditions, same[0]?.page ?? {}, select),
        )
        for (const one of same) pageByQuery.set(one, pages.get(one.instanceId) as EventPage<Select>)
      }
      return pageByQuery
    },

    async byIds<const Select extends EventSelect>(actor: Actor, ids: readonly bigint[], select: Select) {
      authorize(actor, 'events.list')
      const conditions = join([...readableByActor(actor), sql`e.id = ANY(${ids.map(String)}::bigint[])`], ' AND ')
      const reading = readingOf(eventSource, select)
      const statement = sql`SELECT ${reading.columns} FROM events e WHERE ${conditions}`
      return await database.read(withoutStatementName(statement), reading)
    },
  }

  /**
   * Reads the same page for every group. The result is keyed by the group's id. `accountId`: all events are of this
   * account.
   */
  async function readPages<const Select extends EventSelect>(
    from: Reads,
    groups: Prisma.Sql,
    conditions: Prisma.Sql[],
    page: PageArguments,
    select: Select,
    accountId?: number,
  ): Promise<Map<bigint | null, EventPage<Select>>> {
    const { limit, backward, cursor } = parsePage(withDefaultPage(page))
    const place = cursor === undefined ? undefined : parseEventCursor(cursor)
    const { range, order } =
      accountId === undefined ? rangeSql(backward, place) : rangeOfAccountSql(backward, place, accountId)
    const event = { select: { ...select, xid: true as const } }
    const reading = readingOf(keptEventSource, { ...wholeKeptRange, horizon: true, groupId: true, event })
    const statement = sql`
      WITH kept AS MATERIALIZED (${keptRangeSql})
      SELECT ${reading.columns} FROM kept k CROSS JOIN ${groups} AS g(id) LEFT JOIN LATERAL (
        SELECT e.* FROM events e WHERE ${join([...range, ...conditions], ' AND ')} ORDER BY ${order} LIMIT ${limit + 1}
      ) e ON true`
    // Which index finds events of subjects depends on the filter.
    const rows = await from.read((accountId === undefined ? withoutStatementName : nameIfRepeated)(statement), reading)
    const kept = toKeptRange(rows[0])
    const horizon = { xid: BigInt(rows[0]?.horizon ?? 0), id: 0n }
    // A cursor of the primary may be ahead of a replica, which lacks events before the cursor, and has none after it.
    if (place && isAfter(place, horizon)) from.decline?.()
    if (place) checkCursorNotExpired(place, kept)
    const horizonCursor = printEventCursor(horizon, kept.epoch)
    const reachesHorizon = !backward || cursor === undefined
    const toPage = (group: typeof rows): EventPage<Select> => {
      // Safe: each has what is selected, and its place.
      const events = eventsIn(group) as SelectedEvent<Select>[]
      const cut = pageOf(events, { limit, backward, cursor }, node => printEventCursor(node, kept.epoch))
      return { ...cut, endCursor: cut.edges.at(-1)?.cursor ?? (reachesHorizon ? horizonCursor : null) }
    }
    return new Map([...Map.groupBy(rows, ({ groupId }) => groupId)].map(([id, group]) => [id, toPage(group)]))
  }
}

/** The account's events that the key may read. */
function readableByActor({ accountId, permissions }: Actor): Prisma.Sql[] {
  return [sql`e.account_id = ${accountId}`, readableSql(permissions)]
}
