import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { type ApiKeyInput, parseApiKeyInput } from '../../../domain/accounts/api-key-input.ts'
import {
  type AllowedDeletions,
  type ApiKeySettings,
  checkKeyDeletion,
  maxApiKeys,
  parseApiKey,
} from '../../../domain/accounts/api-keys.ts'
import { type Actor, isInstanceKey } from '../../../domain/actor.ts'
import { DomainError, invalidInput, notFound, secretEnded } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize } from '../../authorize.ts'
import { checkKeyHasNoLimit } from '../../billing/limits/limits.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { runAndRead } from '../../idempotency.ts'
import { smallIds } from '../../small-ids.ts'
import { type ApiKeySelect, findKeys, ownActiveKeys, type SelectedApiKey, settingsOf, settingsSelect } from './find.ts'
import { generateApiKey } from './identity.ts'
import { apiKeyFactsOf, checkNotWider, findActiveKey, keyEnded, lockKeys } from './key-changes.ts'

type WithIdempotencyKey = { idempotencyKey?: string | null | undefined }

/** A key with its secret, which no later read returns. */
export type ApiKeyWithSecret<Select extends ApiKeySelect> = {
  apiKey: SelectedApiKey<Select>
  secret: string
  replayed: boolean
}

export function apiKeyServices(deps: Pick<Deps, 'database' | 'secrets' | 'rememberedKeys'>) {
  const { database } = deps
  const active = (actor: Actor) => ownActiveKeys(actor, database.clock.latest())

  return {
    /** The account's active keys, newest first. */
    async list<Select extends ApiKeySelect>(actor: Actor, select: Select) {
      authorize(actor, 'apiKeys.list')
      return await findKeys(database.prisma, active(actor), select)
    },

    /** The account's active keys with these ids. Keys of other accounts are not found. */
    async byIds<Select extends ApiKeySelect>(actor: Actor, ids: readonly number[], select: Select) {
      authorize(actor, 'apiKeys.list')
      return await findKeys(database.prisma, { ...active(actor), id: { in: [...ids] } }, select)
    },

    /** The key of the caller, which needs no permission to read itself. Null for an instance's own key. */
    async current<Select extends ApiKeySelect>(actor: Actor, select: Select) {
      if (isInstanceKey(actor)) return null
      const { apiKeyId: id, publicId } = actor
      const [key] = await findKeys(database.prisma, { ...active(actor), id, publicId }, select)
      if (!key) throw keyEnded()
      return key
    },

    async create<Select extends ApiKeySelect>(
      actor: Actor,
      { idempotencyKey, ...input }: ApiKeyInput & WithIdempotencyKey,
      select: Select,
    ): Promise<ApiKeyWithSecret<Select>> {
      authorize(actor, 'apiKeys.create')
      const settings = parseApiKeyInput(input)
      const { name, permissions, expiresAt } = settings
      const request = { operation: 'apiKeys.create' as const, input: { name, permissions, expiresAt }, idempotencyKey }
      const work = async (tx: Transaction) => {
        const { at } = tx
        if (expiresAt && expiresAt <= at) throw invalidInput([{ path: 'expiresAt', message: 'is in the past.' }])
        const { row, key } = generateApiKey(settings)
        const { id } = await tx.prisma(async prisma => {
          if ((await prisma.apiKey.count({ where: ownActiveKeys(actor, at) })) >= maxApiKeys) throw tooManyKeys()
          const data = { ...row, accountId: actor.accountId, createdAt: at }
          return await prisma.apiKey.create({ data, select: { id: true } })
        })
        await recordKeyChange(tx, actor, 'API_KEY_CREATED', id, settings)
        return { id, secret: key }
      }
      const checkPermission = async (tx: Transaction) => {
        const caller = await lockKeys(tx, actor)
        authorize(caller, 'apiKeys.create')
        checkNotWider(caller, { permissions, expiresAt })
        await checkKeyHasNoLimit(tx, actor)
      }
      const read = async (tx: Transaction, stored: StoredSecret) => {
        // Another request may have given the key more permissions since.
        checkNotWider(
          await lockKeys(tx, actor),
          await readWithSecret(tx, actor, stored, settingsSelect).then(settingsOf),
        )
        return { apiKey: await readWithSecret(tx, actor, stored, select), secret: stored.secret }
      }
      const { answer, replayed } = await runAndRead(deps, actor, request, { checkPermission, work, read })
      return { ...answer, replayed }
    },

    /** Gives a key a new secret, which replaces the old one at once, even when a key resets itself. */
    async rotateSecret<Select extends ApiKeySelect>(
      actor: Actor,
      { id, idempotencyKey }: { id: bigint } & WithIdempotencyKey,
      select: Select,
    ): Promise<ApiKeyWithSecret<Select>> {
      authorize(actor, 'apiKeys.reset', { id: Number(id) })
      const request = { operation: 'apiKeys.reset' as const, input: { id: Number(id) }, idempotencyKey }
      const work = async (tx: Transaction) => {
        const { at } = tx
        const { row, key } = generateApiKey({ permissions: null })
        const where = { ...ownActiveKeys(actor, at), id: { in: smallIds([id]) } }
        const data = { publicId: row.publicId, secretHash: row.secretHash, lastUsedAt: null }
        const [changed] = await tx.prisma(prisma =>
          prisma.apiKey.updateManyAndReturn({ where, data, select: settingsSelect }),
        )
        if (!changed) throw notFound('ApiKey', id)
        await recordKeyChange(tx, actor, 'API_KEY_SECRET_ROTATED', changed.id, settingsOf(changed))
        return { id: changed.id, secret: key }
      }
      const checkPermission = async (tx: Transaction) => {
        const caller = await lockKeys(tx, actor)
        authorize(caller, 'apiKeys.reset', { id: Number(id) })
        const existing = await findActiveKey(tx, actor, id)
        // The answer contains the new secret, so the caller could do everything that the key may do.
        checkNotWider(caller, settingsOf(existing))
        if (existing.id !== actor.apiKeyId) await checkKeyHasNoLimit(tx, actor)
      }
      const read = async (tx: Transaction, stored: StoredSecret) => {
        return { apiKey: await readWithSecret(tx, actor, stored, select), secret: stored.secret }
      }
      const running = runAndRead(deps, actor, request, { checkPermission, work, read })
      const { answer, replayed } = await running.finally(() => deps.rememberedKeys.forget(Number(id)))
      return { ...answer, replayed }
    },

    /**
     * Revokes a key, even one with more permissions: see `checkKeyDeletion`. The keys of the instances that this key rented
     * end, too, unless `keepInstanceKeys` is set. After this call returns, this gateway answers no request with one of these
     * keys, and no gateway lets one change anything. Other gateways are told at once. They may answer reads for up to a second.
     */
    async delete(actor: Actor, id: bigint, { keepInstanceKeys, allowed }: KeyDeletion): Promise<void> {
      authorize(actor, 'apiKeys.revoke', { id: Number(id) })
      await transaction(database, async tx => {
        const { at } = tx
        authorize(await lockKeys(tx, actor), 'apiKeys.revoke', { id: Number(id) })
        const found = await findActiveKey(tx, actor, id)
        const isOwn = found.id === actor.apiKeyId
        checkKeyDeletion({ isOwn, isLastWithFullAccess: await isLastWithFullAccess(tx, actor, found) }, allowed)
        const data = { revokedAt: at, keepInstanceKeys }
        const where = { ...ownActiveKeys(actor, at), id: found.id }
        const [revoked] = await tx.prisma(prisma =>
          prisma.apiKey.updateManyAndReturn({ where, data, select: settingsSelect }),
        )
        if (!revoked) throw new Error(`API key ${found.id} was changed without the lock of its account.`)
        const event = { kind: 'API_KEY_DELETED' as const, accountId: actor.accountId, actor: apiKeyActor(actor) }
        await recordEvents(tx, [{ ...event, before: apiKeyFactsOf(revoked.id, settingsOf(revoked)) }], at)
      }).finally(() => deps.rememberedKeys.forget(Number(id)))
    },
  }
}

type KeyDeletion = { keepInstanceKeys: boolean; allowed: AllowedDeletions }

/** Whether no other valid key of the account has full access. The account's keys must be locked. */
async function isLastWithFullAccess(
  tx: Transaction,
  actor: Actor,
  key: SelectedApiKey<typeof settingsSelect>,
): Promise<boolean> {
  if (settingsOf(key).permissions !== null) return false
  const where = { ...ownActiveKeys(actor, tx.at), id: { not: key.id }, permissions: { equals: Prisma.DbNull } }
  return (await tx.prisma(prisma => prisma.apiKey.count({ where }))) === 0
}

/** What is stored under an idempotency key. */
type StoredSecret = { id: number; secret: string }

function tooManyKeys(): DomainError {
  const message = `An account has at most ${maxApiKeys} API keys. Delete one first.`
  return new DomainError('CONFLICT', message, { subject: null })
}

async function recordKeyChange(
  tx: Transaction,
  { accountId, apiKeyId }: Actor,
  kind: 'API_KEY_CREATED' | 'API_KEY_SECRET_ROTATED',
  id: number,
  settings: ApiKeySettings,
): Promise<void> {
  const after = apiKeyFactsOf(id, settings)
  await recordEvents(tx, [{ kind, accountId, actor: apiKeyActor({ apiKeyId }), after }], tx.at)
}

/** The key as it is now, if the secret is still its own. */
async function readWithSecret<Select extends ApiKeySelect>(
  tx: Transaction,
  actor: Actor,
  { id, secret }: StoredSecret,
  select: Select,
): Promise<SelectedApiKey<Select>> {
  const publicId = parseApiKey(secret)?.publicId ?? ''
  const where = { ...ownActiveKeys(actor, tx.at), id, publicId }
  const [apiKey] = await tx.prisma(prisma => findKeys(prisma, where, select))
  if (!apiKey) throw secretEnded('ApiKey', id)
  return apiKey
}
