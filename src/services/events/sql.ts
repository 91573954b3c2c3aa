import { Prisma } from '../../database/generated/client.ts'
import { int4, int8, jsonb, nullable, outer, type RowOf, text, textOf, timestamptz } from '../../database/row-types.ts'
import {
  type Constraint,
  constraintsOf,
  type Operation,
  type Permissions,
} from '../../domain/accounts/permissions/permissions.ts'
import type { ActorKind, EventActor } from '../../domain/events/actor.ts'
import type { KeptRange } from '../../domain/events/cursor.ts'
import {
  boundableTypes,
  type Event,
  type EventFilter,
  type EventKind,
  eventReadOperations,
  type Position,
} from '../../domain/events/events.ts'
import type { EventSubject } from '../../domain/events/subject.ts'

const { sql, join } = Prisma

/** The columns of an event `e`, as `eventShape` names them. */
export const eventColumns = sql`e.xid::text, e.id AS event_id, e.kind, e.account_id, e.instance_id, e.actor_kind, e.api_key_id, e.subject_type, e.subject_id, e.before, e.after, e.reason, e.note, e.created_at`

export const eventShape = {
  xid: text,
  eventId: int8,
  kind: textOf<EventKind>(),
  accountId: int4,
  instanceId: nullable(int8),
  actorKind: textOf<ActorKind>(),
  apiKeyId: nullable(int4),
  subjectType: textOf<EventSubject['type']>(),
  subjectId: int8,
  before: nullable(jsonb<Record<string, unknown>>()),
  after: nullable(jsonb<Record<string, unknown>>()),
  reason: nullable(text),
  note: nullable(text),
  createdAt: timestamptz,
}
type EventRow = RowOf<typeof eventShape>

export function toEvent({ eventId, xid, actorKind, apiKeyId, subjectType, subjectId, ...facts }: EventRow): Event {
  const { kind, accountId, instanceId, before, after, reason, note, createdAt } = facts
  // Safe: a constraint holds that exactly the events of API keys have a key.
  const actor = (actorKind === 'api_key' ? { kind: actorKind, apiKeyId } : { kind: actorKind }) as EventActor
  const subject = { type: subjectType, id: subjectId }
  const about = { kind, accountId, instanceId, actor, subject }
  return { xid: BigInt(xid), id: eventId, ...about, before, after, reason, note, createdAt }
}

/** The columns of an event that an outer join may not have found. */
export const outerEventShape = outer(eventShape)

export function toEvents(rows: readonly RowOf<typeof outerEventShape>[]): Event[] {
  // Safe: where `xid` is not null, the join has found an event.
  return rows.filter(({ xid }) => xid !== null).map(row => toEvent(row as EventRow))
}

/**
 * The range of events that are kept, and the horizon: no event can appear before it anymore. The table `outbox` has one row
 * with the epoch and the last purged position. The events are in `events`.
 */
export const keptRangeSql = sql`SELECT epoch, purged_xid::text, purged_id, pg_snapshot_xmin(pg_current_snapshot()) AS horizon FROM outbox`

export const keptShape = { epoch: int4, purgedXid: text, purgedId: int8 }
/** The columns of `keptShape`, of a row `k` of `keptRangeSql`. */
export const keptColumns = sql`k.epoch, k.purged_xid, k.purged_id`

export function toKeptRange(row: RowOf<typeof keptShape> | undefined): KeptRange {
  if (!row) throw new Error('The table outbox has no row.')
  return { epoch: row.epoch, purged: { xid: BigInt(row.purgedXid), id: row.purgedId } }
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
