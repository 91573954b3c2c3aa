import { isDeepStrictEqual } from 'node:util'
import { Prisma } from '../../database/generated/client.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import {
  checkCanReadKinds,
  parseWebhookChange,
  type Webhook,
  type WebhookChange,
} from '../../domain/webhooks/webhooks.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { checkHost, eventActorOf, giveUpDeliveries, ownWebhookSql, webhookFactsOf } from './changes.ts'
import { isWantedSql, unwantedError } from './delivery.ts'
import { toWebhook, webhookColumns } from './webhooks.ts'

const { sql } = Prisma

export function webhookChangeServices({
  database,
  privateWebhooks = false,
}: Pick<Deps, 'database' | 'privateWebhooks'>) {
  return {
    /**
     * Changes the URL, the kinds or the name of a webhook. Its secret stays. An attempt in progress ends at the old URL;
     * every later attempt, also of an earlier event, goes to the new one. Pending deliveries of kinds that the webhook no
     * longer gets are given up, so the new URL gets only events that the caller may read.
     */
    async update(actor: Actor, id: number, change: WebhookChange): Promise<Webhook> {
      authorize(actor, 'webhooks.update', { id })
      const changed = parseWebhookChange(change, privateWebhooks)
      if (changed.url !== undefined) checkHost(changed.url, privateWebhooks)
      return await transaction(database, tx => updateInTransaction(tx, actor, id, changed))
    },
  }
}

async function updateInTransaction(
  tx: Transaction,
  actor: Actor,
  id: number,
  changed: ReturnType<typeof parseWebhookChange>,
): Promise<Webhook> {
  const { at } = tx
  const [row] = await tx.rows(sql`
    SELECT ${webhookColumns} FROM webhooks w WHERE ${ownWebhookSql(actor, id)} FOR NO KEY UPDATE`)
  if (!row) throw notFound('Webhook', id)
  const before = toWebhook(row, at)
  const after = { ...before, ...changed }
  if (changed.url !== undefined || changed.kinds) checkCanReadKinds(actor, after.kinds)
  if (isDeepStrictEqual(after, before)) return before
  const { url, kinds, name } = after
  // Kinds of a newer gateway's version are not in `kinds`, and stay unless the caller replaces all kinds.
  const newKinds = changed.kinds ? sql`, kinds = ${kinds}` : Prisma.empty
  await tx.rows(sql`UPDATE webhooks SET url = ${url}, name = ${name}${newKinds} WHERE id = ${id}`)
  if (changed.kinds) await giveUpDeliveries(tx, id, unwantedError, sql`NOT ${isWantedSql(sql`${kinds}::text[]`)}`)
  const event = { ...eventActorOf(actor), kind: 'WEBHOOK_UPDATED' as const }
  await recordEvents(tx, [{ ...event, before: webhookFactsOf(before), after: webhookFactsOf(after) }], at)
  return after
}
