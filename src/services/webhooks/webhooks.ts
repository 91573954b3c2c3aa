import { Prisma } from '../../database/generated/client.ts'
import { int4, int8, nullable, type RowOf, text, timestamptz } from '../../database/row-types.ts'
import type { Actor } from '../../domain/actor.ts'
import { canReadEvent, isEventKind } from '../../domain/events/events.ts'
import { maxRecentDeliveries, type Webhook, type WebhookDelivery } from '../../domain/webhooks/webhooks.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { eventColumns, eventShape, toEvent } from '../events/sql.ts'

const { sql } = Prisma

export const webhookColumns = sql`w.id, w.url, w.kinds, w.created_at, w.old_secret_until, w.name`

export function webhookReadServices({ database }: Pick<Deps, 'database'>) {
  const findWebhooks = async ({ accountId }: Actor, condition: Prisma.Sql): Promise<Webhook[]> => {
    const rows = await database.rows(sql`
      SELECT ${webhookColumns}, ${database.nowSql} FROM webhooks w
      WHERE w.account_id = ${accountId} AND w.deleted_at IS NULL AND ${condition} ORDER BY w.id`)
    return rows.map(row => toWebhook(row, row.at(-1) as Date))
  }

  return {
    /** The account's webhooks, oldest first. Without pages, since an account has few webhooks. */
    async list(actor: Actor): Promise<Webhook[]> {
      authorize(actor, 'webhooks.list')
      return await findWebhooks(actor, sql`true`)
    },

    async byIds(actor: Actor, ids: readonly number[]): Promise<Webhook[]> {
      authorize(actor, 'webhooks.list')
      return await findWebhooks(actor, sql`w.id = ANY(${[...ids]}::int[])`)
    },

    /** The newest deliveries of each webhook, without events that the key may not read. */
    async recentDeliveries(
      actor: Actor,
      ids: readonly number[],
    ): Promise<{ id: number; deliveries: WebhookDelivery[] }[]> {
      authorize(actor, 'webhooks.list')
      const rows = await database.query(
        sql`
        SELECT w.id AS webhook_id, ${deliveryColumns} FROM webhooks w
        CROSS JOIN LATERAL (
          SELECT * FROM webhook_deliveries d WHERE d.webhook_id = w.id ORDER BY d.event_id DESC LIMIT ${maxRecentDeliveries}
        ) d JOIN events e ON e.id = d.event_id
        WHERE w.id = ANY(${[...ids]}::int[]) AND w.account_id = ${actor.accountId} ORDER BY d.event_id DESC`,
        { webhookId: int4, ...deliveryShape },
      )
      const deliveries = rows.map(({ webhookId, ...row }) => ({ webhookId, delivery: toDelivery(row) }))
      const readable = deliveries.filter(({ delivery }) => canReadEvent(actor, delivery.event))
      return ids.map(id => ({
        id,
        deliveries: readable.flatMap(({ webhookId, delivery }) => (webhookId === id ? [delivery] : [])),
      }))
    },
  }
}

/** The columns of a delivery (d) and its event (e). */
export const deliveryColumns = sql`d.id AS delivery_id, d.attempts, d.attempted_at, d.due_at, d.delivered_at, d.response_status, d.error, ${eventColumns}`

export const deliveryShape = {
  deliveryId: int8,
  attempts: int4,
  attemptedAt: nullable(timestamptz),
  dueAt: nullable(timestamptz),
  deliveredAt: nullable(timestamptz),
  responseStatus: nullable(int4),
  error: nullable(text),
  ...eventShape,
}

export function toDelivery(row: RowOf<typeof deliveryShape>): WebhookDelivery {
  const { deliveryId, attempts, attemptedAt, dueAt, deliveredAt, responseStatus, error, ...event } = row
  const attempted = { attempts, attemptedAt, nextAttemptAt: dueAt, deliveredAt, responseStatus, error }
  return { id: deliveryId, ...attempted, event: toEvent(event) }
}

export function toWebhook([id, url, written, createdAt, until, name]: unknown[], at: Date): Webhook {
  const oldSecretUntil = until && (until as Date) > at ? until : null
  // A gateway of a newer version may write kinds that this gateway does not know.
  const kinds = (written as string[]).filter(isEventKind)
  return { id, name, url, kinds, createdAt, oldSecretUntil } as Webhook
}
