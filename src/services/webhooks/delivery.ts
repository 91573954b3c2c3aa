// Leases webhook deliveries to gateways, and records the results.

import { Prisma } from '../../database/generated/client.ts'
import { readingOf, type Source } from '../../database/selection/reading.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Event } from '../../domain/events/events.ts'
import { payloadOf } from '../../domain/events/payload.ts'
import { printId } from '../../domain/ids.ts'
import {
  type AttemptResult,
  isDelivered,
  retryDelayMs,
  testKind,
  type WebhookDelivery,
} from '../../domain/webhooks/webhooks.ts'
import type { Deps } from '../deps.ts'
import { wholeEvent } from '../events/sql.ts'
import { isHeldSql, leaseMs } from '../reconciliation/leases.ts'
import { signatureHeaders } from './signatures.ts'
import { createWebhookTurns, firstOfWebhookSql, isDueSql, maxInFlightPerWebhook, ofWebhookSql } from './turns.ts'
import { deliverySource } from './webhooks.ts'

const { sql } = Prisma

export type Deliveries = ReturnType<typeof deliveryServices>

/** A delivery that one gateway may send until the lease ends. */
export type DeliveryLease = {
  deliveryId: bigint
  webhookId: number
  leasedUntil: Date
  attempts: number
  sealedUrl: Uint8Array
  /** Why the delivery is not sent: the webhook was deleted or changed while the event was being written. */
  obsolete: string | null
  /** The encrypted secrets that sign. The second, if any, is the old secret. */
  secrets: Uint8Array[]
  event: Event
}

export type WebhookRequest = { url: string; headers: Record<string, string>; body: string }

export const deletedError = 'The webhook was deleted.'
export const unwantedError = 'The webhook no longer gets events of this kind.'

export function deliveryServices({ database, secrets }: Pick<Deps, 'database' | 'secrets'>) {
  const lockDueWebhooks = createWebhookTurns()
  return {
    /** Leases due deliveries, at most one per webhook. Accounts take turns, and so do the webhooks of each account. */
    async leaseDue(limit: number): Promise<DeliveryLease[]> {
      return await transaction(database, async tx => {
        const { at } = tx
        const webhooks = await lockDueWebhooks(tx, limit, at)
        return webhooks.length === 0 ? [] : await leaseOldestDue(tx, webhooks, at)
      })
    },

    buildRequest({ deliveryId, sealedUrl, secrets: sealed, event }: DeliveryLease): WebhookRequest {
      const body = JSON.stringify(payloadOf(event))
      const opened = sealed.map(secret => secrets.open(secret))
      const eventId = printId('Event', event.id)
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'Berth-Webhooks',
        'berth-event': eventId,
        'berth-delivery': printId('WebhookDelivery', deliveryId),
        ...signatureHeaders(opened, eventId, database.clock.now(), body),
      }
      return { url: secrets.open(sealedUrl), headers, body }
    },

    /**
     * Records an attempt. Does nothing when another gateway has the lease by now, or the webhook was deleted. Returns whether the
     * webhook fails from now on, or works again. Locks the webhook before its delivery, as a change of the webhook does.
     */
    async record(lease: DeliveryLease, attempt: AttemptResult): Promise<'fails' | 'works' | undefined> {
      const { deliveryId, attempts, webhookId } = lease
      const { responseStatus, error } = { responseStatus: null, error: null, ...attempt }
      const { nowSql } = database
      const delivered = isDelivered(attempt)
      const retryMs = retryDelayMs(deliveryId, attempts + 1, attempt)
      const changed = await database.execute(sql`
        WITH changed AS (
          UPDATE webhooks SET failing_since = CASE WHEN NOT ${delivered}::bool THEN ${nowSql} END
          WHERE id = ${webhookId} AND deleted_at IS NULL AND (failing_since IS NULL) <> ${delivered}::bool
          AND EXISTS (SELECT FROM webhook_deliveries WHERE ${isLeasedSql(lease)}) RETURNING id
        ), recorded AS (
          UPDATE webhook_deliveries SET leased_until = NULL, attempts = ${attempts + 1}, attempted_at = ${nowSql},
            delivered_at = CASE WHEN ${delivered}::bool THEN ${nowSql} END,
            due_at = ${nowSql} + ${retryMs}::int * interval '1 millisecond', response_status = ${responseStatus},
            error = ${error}
          WHERE ${isLeasedSql(lease)} AND (SELECT count(*) FROM changed) >= 0
        ) SELECT id FROM changed`)
      if (changed === 0) return undefined
      return delivered ? 'works' : 'fails'
    },

    /** Gives up a delivery without an attempt. */
    async giveUp(lease: DeliveryLease, error: string): Promise<void> {
      await database.execute(sql`
        UPDATE webhook_deliveries SET leased_until = NULL, due_at = NULL, error = ${error} WHERE ${isLeasedSql(lease)}`)
    },

    /** Ends the lease of a delivery that was not sent, so that another gateway can lease the delivery. */
    async release(lease: DeliveryLease): Promise<void> {
      await database.execute(sql`UPDATE webhook_deliveries SET leased_until = NULL WHERE ${isLeasedSql(lease)}`)
    },
  }
}

/** The delivery of a lease, if the lease is still held. */
function isLeasedSql({ webhookId, event, leasedUntil }: DeliveryLease): Prisma.Sql {
  return sql`webhook_id = ${webhookId} AND event_id = ${event.id} AND leased_until = ${leasedUntil}`
}

/**
 * Leases the oldest due delivery of each webhook. Counts the deliveries in progress again, now that the webhooks are
 * locked. With LIMIT, webhooks and events are looked up by their ids, whatever the planner expects.
 */
async function leaseOldestDue(tx: Transaction, webhooks: number[], at: Date): Promise<DeliveryLease[]> {
  const leasedUntil = new Date(at.getTime() + leaseMs)
  const reading = readingOf(leaseSource(at), leased)
  const rows = await tx.read(
    sql`
    WITH first AS MATERIALIZED (
      SELECT taken.id AS webhook_id, first.event_id FROM unnest(${webhooks}::int[]) AS taken(id) CROSS JOIN LATERAL (
        SELECT d.event_id FROM webhook_deliveries d WHERE ${ofWebhookSql(sql`taken.id`)} AND ${isDueSql(at)}
        AND (SELECT count(*) FROM webhook_deliveries b WHERE b.webhook_id = taken.id
          AND ${isHeldSql(sql`b.leased_until`, sql`${at}::timestamptz`)}) < ${maxInFlightPerWebhook}
        ORDER BY ${firstOfWebhookSql} LIMIT 1 FOR UPDATE SKIP LOCKED
      ) first
    )
    UPDATE webhook_deliveries d SET leased_until = ${leasedUntil} FROM first
    CROSS JOIN LATERAL (SELECT * FROM webhooks WHERE id = first.webhook_id LIMIT 1) w
    CROSS JOIN LATERAL (SELECT * FROM events WHERE id = first.event_id LIMIT 1) e
    WHERE d.webhook_id = first.webhook_id AND d.event_id = first.event_id
    RETURNING ${reading.columns}`,
    reading,
  )
  return rows.map(({ id: deliveryId, secret, oldSecret, ...lease }) => {
    const secrets = oldSecret ? [secret, oldSecret] : [secret]
    return { deliveryId, leasedUntil, secrets, ...lease }
  })
}

type OfWebhook = {
  sealedUrl: Uint8Array
  obsolete: string | null
  secret: Uint8Array
  oldSecret: Uint8Array | null
}

/** Where a statement of deliveries `d`, their events `e` and their webhooks `w` has the rows of a selection. */
function leaseSource(at: Date): Source<WebhookDelivery & OfWebhook> {
  const computed = {
    sealedUrl: sql`w.sealed_url`,
    obsolete: sql`CASE WHEN w.deleted_at IS NOT NULL THEN ${deletedError}
      WHEN NOT ${isWantedSql(sql`w.kinds`)} THEN ${unwantedError} END`,
    secret: sql`w.secret`,
    oldSecret: sql`CASE WHEN w.old_secret_until > ${at} THEN w.old_secret END`,
  }
  const { model, alias, relations = {} } = deliverySource
  return { model, alias, relations, computed }
}

const ofWebhook = { sealedUrl: true, obsolete: true, secret: true, oldSecret: true } as const
const leased = { id: true, webhookId: true, attempts: true, ...ofWebhook, event: { select: wholeEvent } } as const

/** Whether a webhook with these kinds gets an event `e`. */
export function isWantedSql(kinds: Prisma.Sql): Prisma.Sql {
  return sql`(e.kind = ANY(${kinds}) OR e.kind = ${testKind})`
}
