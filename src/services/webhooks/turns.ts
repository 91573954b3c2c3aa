// Shares the places for webhook deliveries between accounts, and between the webhooks of each account. An endpoint that is
// far behind must not delay other endpoints.

import { Prisma } from '../../database/generated/client.ts'
import { int4, nullable } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import { isFreeSql, isHeldSql } from '../reconciliation/leases.ts'

const { sql } = Prisma

/** At most this many deliveries of a webhook are in progress, over all gateways. */
export const maxInFlightPerWebhook = 2
/**
 * At most this many deliveries of an account are in progress. Gateways that lease at the same time may exceed this by a
 * few.
 */
const maxInFlightPerAccount = 8

/** Compares the webhooks of this many deliveries that are due the longest. If more are due, webhooks take turns. */
const comparedCount = 64

const turnRow = { id: nullable(int4), lastWalked: nullable(int4) }

export function isDueSql(at: Date): Prisma.Sql {
  return sql`d.due_at <= ${at} AND ${isFreeSql(sql`d.leased_until`, sql`${at}::timestamptz`)}`
}

/**
 * The deliveries `d` of one webhook. Not by `=`: PostgreSQL could then drop the webhook from `firstOfWebhookSql`, and walk all due
 * deliveries by time. If most are of another webhook, it believes that this is short.
 */
export function ofWebhookSql(id: Prisma.Sql): Prisma.Sql {
  return sql`d.webhook_id >= ${id} AND d.webhook_id <= ${id}`
}

/** The order of an index. */
export const firstOfWebhookSql = sql`d.webhook_id, d.due_at`

/**
 * Locks webhooks that have a due delivery, and fewer deliveries in progress than allowed. Accounts with the fewest
 * deliveries in progress come first, and within an account the webhooks with the fewest. The lock lets the account's
 * events be written, but keeps other gateways from counting deliveries in progress.
 *
 * Among webhooks with the same claim, the one that is due the longest comes first. If many deliveries are due, a few
 * webhooks that are far behind would always be that one. So a round-robin over the webhooks chooses the next ones to
 * compare, and chance decides between them.
 */
export function createWebhookTurns(): (tx: Transaction, limit: number, at: Date) => Promise<number[]> {
  // Each gateway has its own `lastWalked`: the round-robin may start at any webhook.
  let lastWalked = 0

  return async function lockDueWebhooks(tx, limit, at) {
    const isDue = isDueSql(at)
    /** The next webhook with a due delivery. After the last comes the first. */
    const nextSql = (id: Prisma.Sql) => sql`coalesce(
      (SELECT d.webhook_id FROM webhook_deliveries d WHERE ${isDue} AND d.webhook_id > ${id} ORDER BY d.webhook_id LIMIT 1),
      (SELECT d.webhook_id FROM webhook_deliveries d WHERE ${isDue} ORDER BY d.webhook_id LIMIT 1))`
    // `UNION` ends the walk when it meets a webhook again, and `LIMIT` when it has met enough.
    const rows = await tx.query(
      sql`
      WITH RECURSIVE longest AS MATERIALIZED (
        SELECT d.webhook_id FROM webhook_deliveries d WHERE ${isDue} ORDER BY d.due_at LIMIT ${comparedCount}
      ), walk (id) AS (
        SELECT ${nextSql(sql`${lastWalked}::int`)} WHERE (SELECT count(*) FROM longest) = ${comparedCount}
        UNION
        SELECT ${nextSql(sql`walk.id`)} FROM walk
      ), walked AS MATERIALIZED (
        SELECT id, row_number() OVER () AS step FROM walk LIMIT ${comparedCount}
      ), compared AS MATERIALIZED (
        SELECT id, random() AS place FROM walked
        UNION ALL
        SELECT DISTINCT webhook_id, 0 FROM longest WHERE NOT EXISTS (SELECT FROM walked)
      ), busy AS (
        SELECT w.account_id, w.id, d.sent FROM (
          SELECT webhook_id, count(*) AS sent FROM webhook_deliveries WHERE ${isHeldSql(sql`leased_until`, sql`${at}::timestamptz`)} GROUP BY webhook_id
        ) d CROSS JOIN LATERAL (SELECT id, account_id FROM webhooks WHERE id = d.webhook_id LIMIT 1) w
      ), waiting AS (
        SELECT w.id, w.account_id, c.place, first.due_at, coalesce(b.sent, 0) AS sent
        FROM compared c CROSS JOIN LATERAL (SELECT id, account_id FROM webhooks WHERE id = c.id LIMIT 1) w
        LEFT JOIN busy b ON b.id = w.id CROSS JOIN LATERAL (
          SELECT d.due_at FROM webhook_deliveries d WHERE ${ofWebhookSql(sql`w.id`)} AND ${isDue} ORDER BY ${firstOfWebhookSql} LIMIT 1
        ) first WHERE coalesce(b.sent, 0) < ${maxInFlightPerWebhook}
      ), turns AS (
        SELECT id, place, due_at, row_number() OVER (PARTITION BY account_id ORDER BY sent, place, due_at, id)
          + (SELECT coalesce(sum(b.sent), 0) FROM busy b WHERE b.account_id = waiting.account_id) AS turn FROM waiting
      ), locked AS MATERIALIZED (
        SELECT w.id FROM (
          SELECT id FROM turns WHERE turn <= ${maxInFlightPerAccount} ORDER BY turn, place, due_at, id
        ) t CROSS JOIN LATERAL (SELECT id FROM webhooks WHERE id = t.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) w
        LIMIT ${limit}
      )
      SELECT locked.id, walk_end.id AS last_walked FROM (SELECT) one LEFT JOIN locked ON true
      LEFT JOIN (SELECT id FROM walked ORDER BY step DESC LIMIT 1) walk_end ON true`,
      turnRow,
    )
    // Also if nothing is locked: otherwise webhooks that may not send more would hide those behind them.
    lastWalked = rows[0]?.lastWalked ?? lastWalked
    return rows.flatMap(({ id }) => id ?? [])
  }
}
