import { randomBytes } from 'node:crypto'
import { Prisma } from '../../database/generated/client.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError, notFound, secretEnded } from '../../domain/errors.ts'
import {
  checkCanReadKinds,
  maxWebhooks,
  oldSecretHours,
  parseWebhookInput,
  type Webhook,
  type WebhookDelivery,
  type WebhookInput,
} from '../../domain/webhooks/webhooks.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { type IdempotentRequest, runAndRead } from '../idempotency.ts'
import { checkHost, eventActorOf, giveUpDeliveries, ownWebhookSql, webhookFactsOf } from './changes.ts'
import { deletedError } from './delivery.ts'
import { deliveryColumns, deliveryShape, toDelivery, toWebhook, webhookColumns } from './webhooks.ts'

const { sql } = Prisma

type WithIdempotencyKey = { idempotencyKey?: string | null | undefined }

/** A webhook with its secret, which no later read returns. */
export type WebhookWithSecret = { webhook: Webhook; secret: string; replayed: boolean }

export function webhookUpdateServices(deps: Deps) {
  const { database, secrets, privateWebhooks = false } = deps

  return {
    async create(
      actor: Actor,
      { idempotencyKey, ...input }: WebhookInput & WithIdempotencyKey,
    ): Promise<WebhookWithSecret> {
      authorize(actor, 'webhooks.create')
      const { url, kinds, name } = parseWebhookInput(input, privateWebhooks)
      checkHost(url, privateWebhooks)
      checkCanReadKinds(actor, kinds)
      const request = {
        operation: 'webhooks.create' as const,
        input: { url, kinds, name: name ?? undefined },
        idempotencyKey,
      }
      const work = async (tx: Transaction) => {
        const { at } = tx
        const { accountId } = actor
        await tx.rows(sql`SELECT FROM accounts WHERE id = ${accountId} FOR NO KEY UPDATE`)
        const secret = generateSecret()
        const [row] = await tx.rows(sql`
          INSERT INTO webhooks AS w (account_id, name, url, kinds, secret, created_at)
          SELECT ${accountId}, ${name}, ${url}, ${kinds}, ${secrets.seal(secret)}, ${at}
          WHERE (SELECT count(*) FROM webhooks WHERE account_id = ${accountId} AND deleted_at IS NULL) < ${maxWebhooks}
          RETURNING ${webhookColumns}`)
        if (!row)
          throw new DomainError('CONFLICT', `An account has at most ${maxWebhooks} webhooks. Delete one first.`, {
            subject: null,
          })
        const webhook = toWebhook(row, at)
        await recordEvents(
          tx,
          [{ ...eventActorOf(actor), kind: 'WEBHOOK_CREATED', after: webhookFactsOf(webhook) }],
          at,
        )
        return { id: webhook.id, secret }
      }
      return await runOnce(actor, request, work)
    },

    /** Sends a test event to this webhook only. */
    async test(actor: Actor, id: number): Promise<WebhookDelivery> {
      authorize(actor, 'webhooks.test', { id })
      return await transaction(database, async tx => {
        const { at } = tx
        // Locked, so that a concurrent deletion gives up this delivery, too.
        const [row] = await tx.rows(
          sql`SELECT w.id FROM webhooks w WHERE ${ownWebhookSql(actor, id)} FOR NO KEY UPDATE`,
        )
        if (!row) throw notFound('Webhook', id)
        await recordEvents(tx, [{ ...eventActorOf(actor), kind: 'WEBHOOK_TESTED', after: { webhookId: id } }], at)
        const [made] = await tx.query(
          sql`
          SELECT ${deliveryColumns} FROM events e JOIN webhook_deliveries d ON d.event_id = e.id
          WHERE e.xid = pg_current_xact_id() AND e.kind = 'WEBHOOK_TESTED'`,
          deliveryShape,
        )
        if (!made) throw new Error(`The test of webhook ${id} has no delivery.`)
        return toDelivery(made)
      })
    },

    /** Gives a webhook a new secret. The old secret also signs for `oldSecretHours`, so that receivers can switch. */
    async rotateSecret(actor: Actor, id: number, idempotencyKey?: string | null): Promise<WebhookWithSecret> {
      authorize(actor, 'webhooks.rotate', { id })
      const request = { operation: 'webhooks.rotate' as const, input: { id }, idempotencyKey }
      const work = async (tx: Transaction) => {
        const { at } = tx
        const [secret, until] = [generateSecret(), new Date(at.getTime() + oldSecretHours * 3_600_000)]
        const [row] = await tx.rows(sql`
          UPDATE webhooks w SET old_secret = w.secret, old_secret_until = ${until}, secret = ${secrets.seal(secret)}
          WHERE ${ownWebhookSql(actor, id)} RETURNING ${webhookColumns}`)
        if (!row) throw notFound('Webhook', id)
        const webhook = toWebhook(row, at)
        await recordEvents(
          tx,
          [{ ...eventActorOf(actor), kind: 'WEBHOOK_SECRET_ROTATED', after: webhookFactsOf(webhook) }],
          at,
        )
        return { id: webhook.id, secret }
      }
      return await runOnce(actor, request, work)
    },

    /** Deletes a webhook and gives up its pending deliveries. */
    async delete(actor: Actor, id: number): Promise<void> {
      authorize(actor, 'webhooks.delete', { id })
      await transaction(database, async tx => {
        const { at } = tx
        const [row] = await tx.rows(sql`
          UPDATE webhooks w SET deleted_at = ${at}, secret = '', old_secret = NULL, old_secret_until = NULL
          WHERE ${ownWebhookSql(actor, id)} RETURNING ${webhookColumns}`)
        if (!row) throw notFound('Webhook', id)
        await giveUpDeliveries(tx, id, deletedError)
        await recordEvents(
          tx,
          [{ ...eventActorOf(actor), kind: 'WEBHOOK_DELETED', before: webhookFactsOf(toWebhook(row, at)) }],
          at,
        )
      })
    },
  }

  /**
   * Runs the work, and reads the webhook as it is now, if the stored secret is still its own. A caller who may not have the
   * secret gets an error in the same transaction, so the work is undone.
   */
  async function runOnce(
    actor: Actor,
    request: IdempotentRequest,
    work: (tx: Transaction) => Promise<StoredSecret>,
  ): Promise<WebhookWithSecret> {
    const read = async (tx: Transaction, { id, secret }: StoredSecret) => {
      const [row] = await tx.rows(sql`
        SELECT ${webhookColumns}, w.secret FROM webhooks w WHERE ${ownWebhookSql(actor, id)}`)
      if (!row || secrets.open(row.at(-1) as Buffer) !== secret) throw secretEnded('Webhook', id)
      const webhook = toWebhook(row, tx.at)
      // The secret lets its holder pose as Berth, so the caller must be allowed to create this webhook as it is now.
      checkCanReadKinds(actor, webhook.kinds)
      return { webhook, secret }
    }
    const { answer, replayed } = await runAndRead(deps, actor, request, { work, read })
    return { ...answer, replayed }
  }
}

/** What is stored under an idempotency key. */
type StoredSecret = { id: number; secret: string }

function generateSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`
}
