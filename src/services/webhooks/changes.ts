// What changes of webhooks share.

import { Prisma } from '../../database/generated/client.ts'
import { bytea, nullable, text, textArray } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { invalidInput, notFound } from '../../domain/errors.ts'
import { apiKeyActor } from '../../domain/events/actor.ts'
import { kindsOf, type WebhookSettings } from '../../domain/webhooks/webhooks.ts'
import type { Secrets } from '../secrets.ts'
import { isPublicAddress, literalAddress } from './address.ts'

const { sql } = Prisma

/** Refuses a private IP address at once. A host name is resolved and checked when an event is sent. */
export function checkHost(url: string, allowsPrivate: boolean): void {
  const address = literalAddress(new URL(url))
  if (address === undefined || allowsPrivate || isPublicAddress(address)) return
  throw invalidInput([{ path: 'url', message: 'must point to a public address.' }])
}

/** Locks a webhook of the account until the end of the transaction. Returns its settings. */
export async function lockWebhook(
  tx: Transaction,
  secrets: Secrets,
  { accountId }: Actor,
  id: number,
): Promise<WebhookSettings> {
  const [row] = await tx.query(
    sql`SELECT name, sealed_url, kinds FROM webhooks
      WHERE id = ${String(id)}::bigint AND account_id = ${accountId} AND deleted_at IS NULL FOR NO KEY UPDATE`,
    { name: nullable(text), sealedUrl: bytea, kinds: textArray },
  )
  if (!row) throw notFound('Webhook', id)
  return { name: row.name, url: secrets.open(row.sealedUrl), kinds: kindsOf(row) }
}

export function eventActorOf({ accountId, apiKeyId }: Actor) {
  return { accountId, actor: apiKeyActor({ apiKeyId }), reason: 'USER_REQUEST' as const }
}

/** What an event records about a webhook: only the host of its URL, since the rest may contain a secret. */
export function webhookFactsOf(id: number, { name, url, kinds }: WebhookSettings) {
  return { webhookId: id, name, host: new URL(url).host, kinds }
}

/**
 * Gives up the pending deliveries of a webhook whose event `e` meets the condition. Locks in the order of events, as
 * does every transaction that locks several deliveries.
 */
export async function giveUpDeliveries(
  tx: Transaction,
  webhookId: number,
  error: string,
  condition = sql`true`,
): Promise<void> {
  await tx.execute(sql`
    UPDATE webhook_deliveries SET due_at = NULL, leased_until = NULL, error = ${error}
    WHERE webhook_id = ${webhookId} AND event_id IN (
      SELECT d.event_id FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
      WHERE d.webhook_id = ${webhookId} AND d.due_at IS NOT NULL AND ${condition} ORDER BY d.event_id FOR UPDATE OF d)`)
}
