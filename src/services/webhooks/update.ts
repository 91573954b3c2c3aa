import { Prisma } from '../../database/generated/client.ts'
import { readingOf } from '../../database/selection/reading.ts'
import { nameIfRepeated } from '../../database/statement-names.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError, secretEnded } from '../../domain/errors.ts'
import {
  checkCanReadKinds,
  kindsOf,
  maxWebhooks,
  oldSecretHours,
  parseWebhookInput,
  type WebhookInput,
  type WebhookSettings,
} from '../../domain/webhooks/webhooks.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { type IdempotentRequest, runAndRead } from '../idempotency.ts'
import { checkHost, eventActorOf, giveUpDeliveries, lockWebhook, webhookFactsOf } from './changes.ts'
import { deletedError } from './delivery.ts'
import { generateSecret } from './signatures.ts'
import {
  type DeliverySelect,
  deliverySource,
  findWebhooks,
  own,
  type SelectedWebhook,
  type WebhookSelect,
} from './webhooks.ts'

const { sql } = Prisma

type WithIdempotencyKey = { idempotencyKey?: string | null | undefined }

/** A webhook with its secret, which no later read returns. */
export type WebhookWithSecret<Select extends WebhookSelect> = {
  webhook: SelectedWebhook<Select>
  secret: string
  replayed: boolean
}

export function webhookUpdateServices(deps: Deps) {
  const { database, secrets, privateWebhooks = false } = deps

  return {
    async create<Select extends WebhookSelect>(
      actor: Actor,
      { idempotencyKey, ...input }: WebhookInput & WithIdempotencyKey,
      select: Select,
    ): Promise<WebhookWithSecret<Select>> {
      authorize(actor, 'webhooks.create')
      const settings = parseWebhookInput(input, privateWebhooks)
      const { url, kinds, name } = settings
      checkHost(url, privateWebhooks)
      checkCanReadKinds(actor, kinds)
      const request = {
        operation: 'webhooks.create' as const,
        input: { url, kinds, name: name ?? undefined },
        idempotencyKey,
      }
      const work = async (tx: Transaction) => {
        const secret = generateSecret()
        const id = await insert(tx, actor, {
          ...{ name, kinds, createdAt: tx.at },
          ...{ sealedUrl: secrets.seal(url), secret: secrets.seal(secret) },
        })
        const event = { ...eventActorOf(actor), kind: 'WEBHOOK_CREATED' as const, after: webhookFactsOf(id, settings) }
        await recordEvents(tx, [event], tx.at)
        return { id, secret }
      }
      return await runOnce(actor, request, work, select)
    },

    /** Sends a test event to this webhook only. */
    async test<const Select extends DeliverySelect>(actor: Actor, id: number, select: Select) {
      authorize(actor, 'webhooks.test', { id })
      return await transaction(database, async tx => {
        const { at } = tx
        // Locked, so that a concurrent deletion gives up this delivery, too.
        await lockWebhook(tx, secrets, actor, id)
        await recordEvents(tx, [{ ...eventActorOf(actor), kind: 'WEBHOOK_TESTED', after: { webhookId: id } }], at)
        const reading = readingOf(deliverySource, select)
        const statement = sql`
          SELECT ${reading.columns} FROM events e JOIN webhook_deliveries d ON d.webhook_id = ${id} AND d.event_id = e.id
          WHERE e.xid = pg_current_xact_id() AND e.kind = 'WEBHOOK_TESTED'`
        const [made] = await tx.read(nameIfRepeated(statement), reading)
        if (!made) throw new Error(`The test of webhook ${id} has no delivery.`)
        return made
      })
    },

    /** Gives a webhook a new secret. The old secret also signs for `oldSecretHours`, so that receivers can switch. */
    async rotateSecret<Select extends WebhookSelect>(
      actor: Actor,
      { id, idempotencyKey }: { id: number } & WithIdempotencyKey,
      select: Select,
    ): Promise<WebhookWithSecret<Select>> {
      authorize(actor, 'webhooks.rotate', { id })
      const request = { operation: 'webhooks.rotate' as const, input: { id }, idempotencyKey }
      const work = async (tx: Transaction) => {
        const { at } = tx
        const settings = await lockWebhook(tx, secrets, actor, id)
        const [secret, until] = [generateSecret(), new Date(at.getTime() + oldSecretHours * 3_600_000)]
        await tx.execute(sql`
          UPDATE webhooks SET old_secret = secret, old_secret_until = ${until}, secret = ${secrets.seal(secret)}
          WHERE id = ${id}`)
        const after = webhookFactsOf(id, settings)
        await recordEvents(tx, [{ ...eventActorOf(actor), kind: 'WEBHOOK_SECRET_ROTATED', after }], at)
        return { id, secret }
      }
      return await runOnce(actor, request, work, select)
    },

    /** Deletes a webhook and gives up its pending deliveries. */
    async delete(actor: Actor, id: number): Promise<void> {
      authorize(actor, 'webhooks.delete', { id })
      await transaction(database, async tx => {
        const { at } = tx
        const settings = await lockWebhook(tx, secrets, actor, id)
        const none = new Uint8Array()
        const ended = { oldSecret: null, oldSecretUntil: null, failingSince: null }
        const data = { deletedAt: at, sealedUrl: none, secret: none, ...ended }
        await tx.prisma(prisma => prisma.webhook.update({ where: { id }, data, select: { id: true } }))
        await giveUpDeliveries(tx, id, deletedError)
        const before = webhookFactsOf(id, settings)
        await recordEvents(tx, [{ ...eventActorOf(actor), kind: 'WEBHOOK_DELETED', before }], at)
      })
    },
  }

  /**
   * Runs the work, and reads the webhook as it is now, if the stored secret is still its own. A caller who may not have the
   * secret gets an error in the same transaction, so the work is undone.
   */
  async function runOnce<Select extends WebhookSelect>(
    actor: Actor,
    request: IdempotentRequest,
    work: (tx: Transaction) => Promise<StoredSecret>,
    select: Select,
  ): Promise<WebhookWithSecret<Select>> {
    const read = async (tx: Transaction, { id, secret }: StoredSecret) =>
      await tx.prisma(async prisma => {
        const where = { ...own(actor), id }
        const kept = await prisma.webhook.findFirst({ where, select: { secret: true, kinds: true } })
        if (!kept || secrets.open(kept.secret) !== secret) throw secretEnded('Webhook', id)
        // The secret lets its holder pose as Berth, so the caller must be allowed to create this webhook as it is now.
        checkCanReadKinds(actor, kindsOf(kept))
        const [webhook] = await findWebhooks(prisma, secrets, where, select, tx.at)
        if (!webhook) throw secretEnded('Webhook', id)
        return { webhook, secret }
      })
    const { answer, replayed } = await runAndRead(deps, actor, request, { work, read })
    return { ...answer, replayed }
  }
}

/** What is stored under an idempotency key. */
type StoredSecret = { id: number; secret: string }

/** Inserts a webhook, if the account may have another. */
async function insert(
  tx: Transaction,
  { accountId }: Actor,
  webhook: Omit<WebhookSettings, 'url'> & Record<'sealedUrl' | 'secret', Buffer<ArrayBuffer>> & { createdAt: Date },
): Promise<number> {
  await tx.execute(sql`SELECT FROM accounts WHERE id = ${accountId} FOR NO KEY UPDATE`)
  return await tx.prisma(async prisma => {
    if ((await prisma.webhook.count({ where: { accountId, deletedAt: null } })) >= maxWebhooks) {
      const message = `An account has at most ${maxWebhooks} webhooks. Delete one first.`
      throw new DomainError('CONFLICT', message, { subject: null })
    }
    return (await prisma.webhook.create({ data: { ...webhook, accountId }, select: { id: true } })).id
  })
}
