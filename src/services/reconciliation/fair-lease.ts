// Shares the reconciler's slots between accounts. A busy account must not delay other accounts; a lone account may use
// every slot.

import { Prisma } from '../../database/generated/client.ts'
import { int4, int8, nullable, timestamptz } from '../../database/row-types.ts'
import type { GatewayDeps } from '../deps.ts'
import { isElsewhereSql } from '../machines/agents/sql.ts'
import { type InstanceLease, isFreeSql, leaseEndSql } from './leases.ts'

const { sql } = Prisma

/** Compares at least this many of the instances that are due the longest. If more are due, accounts take turns. */
const leastCompared = 64
/** `taken`: how many instances are chosen in turns at most. `walked`: how many accounts are looked at for them at most. */
const turnLimits = { taken: 16, walked: 64 }

const leasedRow = { id: int8, leasedUntil: timestamptz, walkedTo: nullable(int4), readAt: timestamptz }

type LeaseQuery = { limit: number; busy: readonly InstanceLease[] }
type LeasedInstances = { ids: bigint[]; leasedUntil: Date | undefined }

/**
 * Leases due instances. Among the instances that are due the longest, accounts with the fewest instances in work come
 * first. If more are due, one account may fill all compared places and hide the instances of other accounts. So
 * a round-robin goes first: it takes the next instance of each account, but skips accounts that have half of the slots
 * already.
 */
export function createFairLease({ database, gatewayId }: GatewayDeps): (query: LeaseQuery) => Promise<LeasedInstances> {
  // Each gateway has its own `lastAccount`: the round-robin may start at any account.
  let lastAccount = 0

  return async function leaseDue({ limit, busy }) {
    const { nowSql, clock } = database
    const askedMs = performance.now()
    const capacity = limit + busy.length
    const compared = Math.max(leastCompared, 2 * capacity)
    const turns = Math.min(limit, turnLimits.taken)
    const isUnleased = sql`${isFreeSql(sql`l.leased_until`, nowSql)} AND NOT ${isElsewhereSql(gatewayId, nowSql)}`
    // Not `due_at <= now`: after many instances became due at once, the planner believes that few are due. It would read all
    // of them for each account and each candidate. No index of due instances serves this form.
    const isDue = sql`coalesce(l.due_at, 'infinity') <= ${nowSql}`
    const statement = sql`
      WITH RECURSIVE longest AS MATERIALIZED (
        SELECT l.instance_id AS id, l.account_id, l.due_at FROM instance_looks l WHERE l.due_at <= ${nowSql} AND ${isUnleased}
        ORDER BY l.due_at LIMIT ${compared}
      ), in_work AS MATERIALIZED (
        SELECT account_id, count(*) FROM unnest(${busy.map(({ accountId }) => accountId)}::int[]) AS account_id GROUP BY 1
      ), walk (step, account_id, id, taken) AS (
        SELECT 0, ${lastAccount}::int, NULL::bigint, 0 WHERE (SELECT count(*) FROM longest) = ${compared}
        UNION ALL
        SELECT step + 1, next.account_id, first.id, taken + (first.id IS NOT NULL)::int FROM walk CROSS JOIN LATERAL (
          SELECT coalesce(
            (SELECT l.account_id FROM instance_looks l WHERE l.due_at IS NOT NULL AND l.account_id > walk.account_id ORDER BY 1 LIMIT 1),
            (SELECT l.account_id FROM instance_looks l WHERE l.due_at IS NOT NULL ORDER BY 1 LIMIT 1)
          ) AS account_id
        ) next LEFT JOIN LATERAL (
          SELECT l.id FROM (
            SELECT l.instance_id AS id, l.due_at FROM instance_looks l WHERE l.account_id = next.account_id AND l.due_at IS NOT NULL AND ${isUnleased}
            ORDER BY l.due_at LIMIT 1
          ) l WHERE ${isDue}
          AND NOT EXISTS (SELECT FROM in_work h WHERE h.account_id = next.account_id AND h.count >= ${capacity / 2}::float)
        ) first ON true
        WHERE step < ${turnLimits.walked} AND taken < ${turns}
      ), turns AS MATERIALIZED (
        SELECT id, min(step) AS step FROM walk WHERE id IS NOT NULL GROUP BY id
      ), candidates AS (
        SELECT id, step, NULL::bigint AS place, NULL::timestamptz AS since FROM turns
        UNION ALL
        SELECT id, NULL, row_number() OVER (PARTITION BY account_id ORDER BY due_at)
          + coalesce((SELECT count FROM in_work h WHERE h.account_id = longest.account_id), 0), due_at
        FROM longest WHERE id NOT IN (SELECT id FROM turns)
      ), ordered AS MATERIALIZED (
        SELECT array_agg(id ORDER BY step, place, since) AS ids FROM candidates
      ), taken AS MATERIALIZED (
        SELECT l.instance_id AS id FROM instance_looks l
        WHERE l.instance_id = ANY((SELECT ids FROM ordered)::bigint[]) AND ${isDue} AND ${isUnleased}
        ORDER BY array_position((SELECT ids FROM ordered), l.instance_id) LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED
      )
      UPDATE instance_looks look SET leased_until = ${leaseEndSql(nowSql)} FROM taken WHERE look.instance_id = taken.id
      RETURNING taken.id, look.leased_until, (SELECT account_id FROM walk ORDER BY step DESC LIMIT 1) AS walked_to,
        ${nowSql} AS read_at`
    const rows = await database.query(statement, leasedRow)
    const [first] = rows
    // Passes estimate the time from this reading: the gateway's computer may have slept since the last reading.
    if (first) clock.recordReading(first.readAt, askedMs)
    lastAccount = first?.walkedTo ?? lastAccount
    return { ids: rows.map(({ id }) => id), leasedUntil: first?.leasedUntil }
  }
}
