import { Prisma } from '../../database/generated/client.ts'
import { readingOf, type Source } from '../../database/selection/reading.ts'
import type { Selected, SelectOf } from '../../database/selection/selected.ts'
import { nameIfRepeated } from '../../database/statement-names.ts'
import type { Actor } from '../../domain/actor.ts'
import { maxRecentDeliveries, type WebhookDelivery } from '../../domain/webhooks/webhooks.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { eventSource, readableSql } from '../events/sql.ts'
import type { Secrets } from '../secrets.ts'
import { asSelected, type ColumnSelect, type SelectedColumns } from '../selected.ts'

const { sql, empty } = Prisma

/** The URL is no column: it is stored encrypted. */
export type WebhookSelect = ColumnSelect<'Webhook', 'id', { readonly url?: true }>
export type SelectedWebhook<Select> = SelectedColumns<'Webhook', 'id', Select, { url: string }>

/** What a read asks of deliveries. */
export type DeliverySelect = SelectOf<WebhookDelivery> & { readonly id: true }
type SelectedDelivery<Select> = Selected<WebhookDelivery, Select> & { webhookId: number }
type DeliveriesOfWebhook<Select> = { id: number; deliveries: SelectedDelivery<Select>[] }

/** Where statements of deliveries `d` and their events `e` have the rows of a selection. */
export const deliverySource: Source<WebhookDelivery> = {
  model: 'WebhookDelivery',
  alias: 'd',
  relations: { event: { ...eventSource, join: empty } },
}

const maxId = sql`9223372036854775807`

export function webhookReadServices({ database, secrets }: Pick<Deps, 'database' | 'secrets'>) {
  return {
    /** The account's webhooks, oldest first. Without pages, since an account has few webhooks. */
    async list<Select extends WebhookSelect>(actor: Actor, select: Select) {
      authorize(actor, 'webhooks.list')
      return await findWebhooks(database.prisma, secrets, own(actor), select, database.clock.now())
    },

    async byIds<Select extends WebhookSelect>(actor: Actor, ids: readonly number[], select: Select) {
      authorize(actor, 'webhooks.list')
      const where = { ...own(actor), id: { in: [...ids] } }
      return await findWebhooks(database.prisma, secrets, where, select, database.clock.now())
    },

    /**
     * The newest deliveries of each webhook, without events that the key may not read. A range of webhooks instead of `=`,
     * because the planner then expects many rows and reads the newest first, whatever the statistics.
     */
    async recentDeliveries<const Select extends DeliverySelect>(
      actor: Actor,
      ids: readonly number[],
      select: Select,
    ): Promise<DeliveriesOfWebhook<Select>[]> {
      authorize(actor, 'webhooks.list')
      const reading = readingOf(deliverySource, { ...select, webhookId: true as const })
      const statement = sql`
        SELECT ${reading.columns} FROM webhooks w
        CROSS JOIN LATERAL (
          SELECT * FROM webhook_deliveries d WHERE d.webhook_id >= w.id AND (d.webhook_id, d.event_id) <= (w.id, ${maxId})
          ORDER BY d.webhook_id DESC, d.event_id DESC LIMIT ${maxRecentDeliveries}
        ) d JOIN events e ON e.id = d.event_id
        WHERE w.id = ANY(${[...ids]}::int[]) AND w.account_id = ${actor.accountId} AND ${readableSql(actor.permissions)}
        ORDER BY d.event_id DESC`
      const found = await database.read(nameIfRepeated(statement), reading)
      // Safe: each has what is selected, and its webhook.
      const deliveries = found as SelectedDelivery<Select>[]
      const byWebhook = Map.groupBy<number, SelectedDelivery<Select>>(deliveries, ({ webhookId }) => webhookId)
      return ids.map(id => ({ id, deliveries: byWebhook.get(id) ?? [] }))
    },
  }
}

/** Webhooks that meet a condition as they are at this time, oldest first. Internal: does not authorize; callers must have. */
export async function findWebhooks<Select extends WebhookSelect>(
  prisma: Prisma.TransactionClient,
  secrets: Secrets,
  where: Prisma.WebhookWhereInput,
  select: Select,
  at: Date,
): Promise<SelectedWebhook<Select>[]> {
  const { url, ...columns }: WebhookSelect = select
  const found: { oldSecretUntil?: Date | null; sealedUrl?: Uint8Array }[] = await prisma.webhook.findMany({
    where,
    select: { ...columns, ...(url && { sealedUrl: true }) },
    orderBy: { id: 'asc' },
  })
  const current = found.map(({ sealedUrl, ...webhook }) => {
    const { oldSecretUntil } = webhook
    return {
      ...webhook,
      ...(sealedUrl && { url: secrets.open(sealedUrl) }),
      ...(oldSecretUntil && oldSecretUntil <= at && { oldSecretUntil: null }),
    }
  })
  return asSelected(current)
}

/** The webhooks of an account. */
export function own({ accountId }: Actor): Prisma.WebhookWhereInput {
  return { accountId, deletedAt: null }
}
