// What is new for the reader of a stream of instances, as of one snapshot of the database.

import { Prisma } from '../../database/generated/client.ts'
import { bool, int4, int8, outer, text } from '../../database/row-types.ts'
import { withoutStatementName } from '../../database/statement-names.ts'
import type { Statements } from '../../database/statements.ts'
import type { Actor } from '../../domain/actor.ts'
import type { KeptRange } from '../../domain/events/cursor.ts'
import type { InstanceFilter } from '../../domain/instances/filter.ts'
import { maxUntoldEvents, maxWatchedInstances, oldestToldXid, type ToldRange } from '../../domain/instances/watch.ts'
import { idBoundsSql, keptColumns, keptRangeSql, keptShape, toKeptRange } from '../events/sql.ts'
import { matchingInstancesSql } from './filter.ts'
import { changesClaimSql, rivalsOfEventSql } from './sql.ts'

const { sql, join } = Prisma

/** An instance with news: whether it matched as the reader was told of it, and whether it matches now. */
export type News = {
  id: bigint
  matched: boolean
  matches: boolean
  /** Only its bid to beat may have changed. */
  onlyBid: boolean
}

/** The news in the order of ids, and the snapshot that shows them. `untoldEvents`: capped at one more than the maximum. */
export type Round = { news: News[]; snapshot: string; kept: KeptRange; untoldEvents: number }

/**
 * Reads what is new since a reader was told of instances. One statement, so that the snapshot is the one that it reads.
 * `since`: transactions before it changed nothing that the reader was not told. One more instance than a stream may begin
 * with is read of those that the reader was never told of.
 */
export async function readRound(
  database: Statements,
  actor: Actor,
  filter: InstanceFilter,
  told: readonly ToldRange[],
  since = 0n,
): Promise<Round> {
  const matching = join([...matchingInstancesSql(actor, filter), watchableSql(actor)], ' AND ')
  const rows = await database.query(
    withoutStatementName(sql`
    WITH kept AS MATERIALIZED (${keptRangeSql}), ${toldSql(actor, told, since)}
    SELECT ${keptColumns}, pg_current_snapshot()::text AS snapshot, (SELECT count(*)::int FROM untold) AS untold_events, n.*
    FROM kept k LEFT JOIN LATERAL (
      SELECT c.id,
        NOT c.created AND EXISTS (SELECT 1 FROM ${instancesAsToldSql} WHERE i.id = c.id AND ${matching}) AS matched,
        EXISTS (SELECT 1 FROM instances i WHERE i.id = c.id AND ${matching}) AS matches, false AS only_bid
      FROM changed c
      UNION ALL
      SELECT i.id, true, true, true FROM instances i
      WHERE i.id IN (SELECT id FROM rebid EXCEPT SELECT id FROM changed) AND ${matching}
      UNION ALL
      ${untoldSql(told, matching)}
    ) n ON n.matched OR n.matches ORDER BY n.id`),
    {
      ...keptShape,
      snapshot: text,
      untoldEvents: int4,
      ...outer({ id: int8, matched: bool, matches: bool, onlyBid: bool }),
    },
  )
  const news = rows.flatMap(({ id, matched, matches, onlyBid }) =>
    id === null ? [] : [{ id, matched, matches, onlyBid } as News],
  )
  const { snapshot = '', untoldEvents = 0 } = rows[0] ?? {}
  return { news, snapshot, kept: toKeptRange(rows[0]), untoldEvents }
}

/** The instances that a key may watch. */
function watchableSql({ permissions }: Actor): Prisma.Sql {
  return idBoundsSql(permissions, 'instances.watch', sql`i.id::float8`)
}

/**
 * `untold`: the account's events that the reader may not have been told of, at most one more than the maximum. A range of
 * accounts instead of `=`, because the planner then reads the index of the account and not that of all events. `changed`:
 * instances with untold events, and what they were before these. Events of one instance are ordered by their ids, because
 * each is written under a lock on the instance. `rebid`: instances whose bid to beat may have changed.
 */
function toldSql({ accountId }: Actor, told: readonly ToldRange[], since: bigint): Prisma.Sql {
  const ranges = told
    .map(({ upTo, snapshot }, index) => ({ after: told[index - 1]?.upTo ?? 0n, upTo: upTo ?? maxId, snapshot }))
    .filter(({ snapshot }) => snapshot !== null)
  const oldest = oldestToldXid(told)
  // A reader that was told nothing needs no events.
  const first = oldest === undefined ? maxId : since > oldest ? since : oldest
  const from = sql`${String(first)}::xid8`
  const before = (kind: string) => sql`(array_agg(e.before ORDER BY e.id) FILTER (WHERE e.kind = ${kind}::text))[1]`
  return sql`
    told AS MATERIALIZED (SELECT * FROM unnest(${ranges.map(({ after }) => String(after))}::bigint[],
      ${ranges.map(({ upTo }) => String(upTo))}::bigint[], ${ranges.map(({ snapshot }) => snapshot)}::pg_snapshot[]
    ) AS t(after, up_to, snapshot)),
    untold AS MATERIALIZED (
      SELECT e.id, e.xid, e.kind, e.instance_id, e.before FROM events e
      WHERE (e.account_id, e.xid) >= (${accountId}::int, ${from}) AND e.account_id <= ${accountId}
      ORDER BY e.account_id, e.xid, e.id LIMIT ${maxUntoldEvents + 1}
    ),
    changed AS MATERIALIZED (
      SELECT e.instance_id AS id, bool_or(e.kind = 'INSTANCE_CREATED') AS created,
        bool_or(e.kind = 'INSTANCE_DESTROYED') AS destroyed, ${before('INSTANCE_LABEL_CHANGED')} AS label,
        ${before('INSTANCE_STATUS_CHANGED')} AS status, ${before('INSTANCE_TARGET_CHANGED')} AS target,
        ${before('INSTANCE_LAUNCH_CHANGED')} AS launch
      FROM untold e JOIN told t ON e.instance_id > t.after AND e.instance_id <= t.up_to
      WHERE NOT pg_visible_in_snapshot(e.xid, t.snapshot)
      GROUP BY e.instance_id
    ),
    rebid AS MATERIALIZED (
      SELECT DISTINCT i.id FROM events e ${rivalsOfEventSql} AND i.account_id = ${accountId}
      JOIN told t ON i.id > t.after AND i.id <= t.up_to
      WHERE (SELECT count(*) FROM untold) <= ${maxUntoldEvents}::int
      AND e.xid >= ${from} AND ${changesClaimSql} AND NOT pg_visible_in_snapshot(e.xid, t.snapshot)
    )`
}

const maxId = 9_223_372_036_854_775_807n

/** The instance `i`, with what changed about the instance `c` as it was before. */
const instancesAsToldSql = sql`(
  SELECT i.id, i.account_id, i.machine_id, i.num_gpus, i.created_at, i.idempotency_key, i.interruptible,
    CASE WHEN c.destroyed THEN NULL ELSE i.destroyed_at END AS destroyed_at,
    CASE WHEN c.label IS NULL THEN i.label ELSE c.label->>'label' END AS label,
    CASE WHEN c.status IS NULL THEN i.status ELSE (c.status->>'status')::instance_status END AS status,
    CASE WHEN c.target IS NULL THEN i.target_state ELSE (c.target->>'targetState')::target_state END AS target_state,
    CASE WHEN c.launch ? 'templateId' THEN (c.launch->>'templateId')::int ELSE i.template_id END AS template_id,
    CASE WHEN c.launch ? 'templateHash' THEN c.launch->>'templateHash' ELSE i.template_hash END AS template_hash
  FROM instances i WHERE i.id = c.id
) i`

/** The matching instances that the reader was never told of. */
function untoldSql(told: readonly ToldRange[], matching: Prisma.Sql): Prisma.Sql {
  const index = told.findIndex(({ snapshot }) => snapshot === null)
  if (index === -1) return sql`SELECT NULL::bigint, false, false, false`
  return sql`(SELECT i.id, false, true, false FROM instances i
    WHERE i.id > ${String(told[index - 1]?.upTo ?? 0n)}::bigint AND ${matching}
    ORDER BY i.id LIMIT ${maxWatchedInstances + 1})`
}
