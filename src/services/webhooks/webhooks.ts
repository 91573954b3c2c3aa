import { Prisma } from '../../database/generated/client.ts'
import { int4, int8, nullable, type RowOf, text, timestamptz } from '../../database/row-types.ts'
import type { Actor } from '../../domain/actor.ts'
import { canReadEvent } from '../../domain/events/events.ts'
import { maxRecentDeliveries, type WebhookDelivery } from '../../domain/webhooks/webhooks.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { eventColumns, eventShape, toEvent } from '../events/sql.ts'

const { sql } = Prisma

export type WebhookSelect = Prisma.WebhookSelect & { id: true }
export type SelectedWebhook<Select extends WebhookSelect> = Prisma.WebhookGetPayload<{ select: Select }> & {
  id: number
}

export function webhookReadServices({ database }: Pick<Deps, 'database'>) {
  return {
    /** The account's webhooks, oldest first. Without pages, since an account has few webhooks. */
    async list<Select extends WebhookSelect>(actor: Actor, select: Select) {
      authorize(actor, 'webhooks.list')
      return await findWebhooks(database.prisma, own(actor), select, database.clock.now())
    },

    async byIds<Select extends WebhookSelect>(actor: Actor, ids: readonly number[], select: Select) {
      authorize(actor, 'webhooks.list')
      const where = { ...own(actor), id: { in: [...ids] } }
      return await findWebhooks(database.prisma, where, select, database.clock.now())
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

/** Webhooks that meet a condition as they are at this time, oldest first. Internal: does not authorize; callers must have. */
export async function findWebhooks<Select extends WebhookSelect>(
  prisma: Prisma.TransactionClient,
  where: Prisma.WebhookWhereInput,
  select: Select,
  at: Date,
): Promise<SelectedWebhook<Select>[]> {
  const found: { oldSecretUntil?: Date | null }[] = await prisma.webhook.findMany({
    where,
    select,
    orderBy: { id: 'asc' },
  })
  const current = found.map(webhook => {
    const { oldSecretUntil } = webhook
    return oldSecretUntil && oldSecretUntil <= at ? { ...webhook, oldSecretUntil: null } : webhook
  })
  // Safe: each has what is selected. Every selection of a webhook has its `id`.
  return current as SelectedWebhook<Select>[]
}

/** The webhooks of an account. */
export function own({ accountId }: Actor): Prisma.WebhookWhereInput {
  return { accountId, deletedAt: null }
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
