import { Prisma } from '../../database/generated/client.ts'
import { int4, int8, type RowOf, text } from '../../database/row-types.ts'
import { columnsOf } from '../../database/selection/columns.ts'
import type { Source } from '../../database/selection/reading.ts'
import type { Selected, SelectOf } from '../../database/selection/selected.ts'
import {
  type Constraint,
  constraintsOf,
  type Operation,
  type Permissions,
} from '../../domain/accounts/permissions/permissions.ts'
import type { KeptRange } from '../../domain/events/cursor.ts'
import {
  boundableTypes,
  type Event,
  type EventFilter,
  type EventKind,
  eventReadOperations,
  type Position,
} from '../../domain/events/events.ts'

const { sql, join, empty } = Prisma

/** What a read asks of events. */
export type EventSelect = SelectOf<Event> & { readonly id: true }
/** An event with its place in the order of events. */
export type SelectedEvent<Select> = Selected<Event, Select> & Position

/** Where statements of events `e` have the rows of a selection. */
export const eventSource: Source<Event> = {
  model: 'Event',
  alias: 'e',
  computed: { xid: { sql: sql`e.xid::text`, decode: xid => BigInt(String(xid)) } },
}

/** Selects all of an event. */
export const wholeEvent = { ...columnsOf(Prisma.EventScalarFieldEnum), xid: true as const }

/**
 * The range of events that are kept, and the horizon: no event can appear before it anymore. The table `outbox` has one row
 * with the epoch and the last purged position. The events are in `events`.
 */
export const keptRangeSql = sql`SELECT epoch, purged_xid::text, purged_id, pg_snapshot_xmin(pg_current_snapshot()) AS horizon FROM outbox`

export const keptShape = { epoch: int4, purgedXid: text, purgedId: int8 }
/** The columns of `keptShape`, of a row `k` of `keptRangeSql`. */
export const keptColumns = sql`k.epoch, k.purged_xid, k.purged_id`

type KeptRow = RowOf<typeof keptShape>

export function toKeptRange(row: KeptRow | undefined): KeptRange {
  if (!row) throw new Error('The table outbox has no row.')
  return { epoch: row.epoch, purged: { xid: BigInt(row.purgedXid), id: row.purgedId } }
}

/** A row of a statement that joins events `e` to the row `k` of `keptRangeSql`. Without any events, one row has none. */
type KeptEventRow = KeptRow & {
  horizon: string
  /** Only of statements that read events for groups `g`. */
  groupId: bigint | null
  event: Event | null
}

export const keptEventSource: Source<KeptEventRow> = {
  model: 'Outbox',
  alias: 'k',
  computed: { purgedXid: sql`k.purged_xid`, horizon: sql`k.horizon::text`, groupId: sql`g.id` },
  relations: { event: { ...eventSource, join: empty, optional: true } },
}

/** Selects the columns of `keptShape`. */
export const wholeKeptRange = { epoch: true, purgedXid: true, purgedId: true } as const

export function eventsIn<Row>(rows: readonly { event: Row | null }[]): Row[] {
  return rows.flatMap(({ event }) => (event === null ? [] : [event]))
}

export function positionSql({ xid, id }: Position): Prisma.Sql {
  return sql`(${String(xid)}::xid8, ${String(id)}::bigint)`
}

/** `matchesEventFilter` in SQL. */
export function filterSql({ kinds, subjects }: EventFilter): Prisma.Sql[] {
  return [
    ...(kinds ? [sql`e.kind = ANY(${kinds}::text[])`] : []),
    ...(subjects
      ? [
          sql`(e.subject_type, e.subject_id) IN (SELECT s.type, s.id FROM unnest(
            ${subjects.map(({ type }) => type)}::text[], ${subjects.map(({ id }) => String(id))}::bigint[]) AS s(type, id))`,
        ]
      : []),
  ]
}

export const isKnownKindSql = sql`e.kind = ANY(${Object.keys(eventReadOperations)}::text[])`

/** `canReadEvent` in SQL, so that pages are not cut short by events filtered out later. */
export function readableSql(permissions: Permissions | null): Prisma.Sql {
  if (permissions === null) return isKnownKindSql
  const byOperation = Map.groupBy(
    Object.entries(eventReadOperations) as [EventKind, Operation][],
    ([, operation]) => operation,
  )
  const conditions = [...byOperation].map(([operation, entries]) => {
    const kinds = entries.map(([kind]) => kind)
    return sql`(e.kind = ANY(${kinds}::text[]) AND ${idBoundsSql(permissions, operation, boundableIdSql)})`
  })
  return sql`(${join(conditions, ' OR ')})`
}

const boundableIdSql = sql`CASE WHEN e.subject_type = ANY(${[...boundableTypes]}::text[]) THEN e.subject_id::float8 END`

/** Whether a key's constraints on an operation allow an id. */
export function idBoundsSql(permissions: Permissions | null, operation: Operation, id: Prisma.Sql): Prisma.Sql {
  const constraints = constraintsOf(permissions, operation)
  if (constraints === undefined) return sql`false`
  const bounds = Object.entries(constraints).flatMap(([parameter, constraint]) =>
    (['eq', 'lte', 'gte'] as const).flatMap(comparison => comparisonSql(id, parameter, comparison, constraint)),
  )
  return bounds.length > 0 ? join(bounds, ' AND ') : sql`true`
}

const sqlOperators = { eq: sql`=`, lte: sql`<=`, gte: sql`>=` }

function comparisonSql(
  subject: Prisma.Sql,
  parameter: string,
  comparison: keyof typeof sqlOperators,
  constraint: Constraint,
) {
  const bound = constraint[comparison]
  if (bound === undefined) return []
  // A constraint can bound only the id of an event's subject, and ids are numbers.
  if (parameter !== 'id' || typeof bound !== 'number') return [sql`false`]
  return [sql`${subject} ${sqlOperators[comparison]} ${bound}::float8`]
}
