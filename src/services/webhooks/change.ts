import { isDeepStrictEqual } from 'node:util'
import { Prisma } from '../../database/generated/client.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import { checkCanReadKinds, parseWebhookChange, type WebhookChange } from '../../domain/webhooks/webhooks.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import type { Secrets } from '../secrets.ts'
import { checkHost, eventActorOf, giveUpDeliveries, lockWebhook, webhookFactsOf } from './changes.ts'
import { isWantedSql, unwantedError } from './delivery.ts'
import { findWebhooks, type SelectedWebhook, type WebhookSelect } from './webhooks.ts'

const { sql } = Prisma

export function webhookChangeServices({
  database,
  secrets,
  privateWebhooks = false,
}: Pick<Deps, 'database' | 'secrets' | 'privateWebhooks'>) {
  return {
    /**
     * Changes the URL, the kinds or the name of a webhook. Its secret stays. An attempt in progress ends at the old URL;
     * every later attempt, also of an earlier event, goes to the new one. Pending deliveries of kinds that the webhook no
     * longer gets are given up, so the new URL gets only events that the caller may read.
     */
    async update<Select extends WebhookSelect>(
      actor: Actor,
      id: number,
      change: WebhookChange,
      select: Select,
    ): Promise<SelectedWebhook<Select>> {
      authorize(actor, 'webhooks.update', { id })
      const changed = parseWebhookChange(change, privateWebhooks)
      if (changed.url !== undefined) checkHost(changed.url, privateWebhooks)
      return await transaction(database, async tx => {
        await updateInTransaction(tx, secrets, actor, id, changed)
        const [webhook] = await tx.prisma(prisma => findWebhooks(prisma, secrets, { id }, select, tx.at))
        if (!webhook) throw notFound('Webhook', id)
        return webhook
      })
    },
  }
}

async function updateInTransaction(
  tx: Transaction,
  secrets: Secrets,
  actor: Actor,
  id: number,
  changed: ReturnType<typeof parseWebhookChange>,
): Promise<void> {
  const before = await lockWebhook(tx, secrets, actor, id)
  const after = { ...before, ...changed }
  if (changed.url !== undefined || changed.kinds) checkCanReadKinds(actor, after.kinds)
  if (isDeepStrictEqual(after, before)) return
  const { url, kinds, name } = after
  // Kinds of a newer gateway's version are not in `kinds`, and stay unless the caller replaces all kinds.
  const data = { sealedUrl: secrets.seal(url), name, ...(changed.kinds && { kinds }) }
  await tx.prisma(prisma => prisma.webhook.update({ where: { id }, data, select: { id: true } }))
  if (changed.kinds) await giveUpDeliveries(tx, id, unwantedError, sql`NOT ${isWantedSql(sql`${kinds}::text[]`)}`)
  const event = { ...eventActorOf(actor), kind: 'WEBHOOK_UPDATED' as const }
  await recordEvents(tx, [{ ...event, before: webhookFactsOf(id, before), after: webhookFactsOf(id, after) }], tx.at)
}
