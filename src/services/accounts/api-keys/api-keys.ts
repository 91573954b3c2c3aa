import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { type ApiKeyInput, parseApiKeyInput } from '../../../domain/accounts/api-key-input.ts'
import { type ApiKey, maxApiKeys, parseApiKey } from '../../../domain/accounts/api-keys.ts'
import { type Actor, isInstanceKey } from '../../../domain/actor.ts'
import { DomainError, invalidInput, notFound, secretEnded } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize } from '../../authorize.ts'
import { checkKeyHasNoLimit } from '../../billing/limits/limits.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { runAndRead } from '../../idempotency.ts'
import { generateApiKey } from './identity.ts'
import {
  activeKeySql,
  apiKeyColumns,
  apiKeyFactsOf,
  checkNotWider,
  findActiveKeys,
  keyEnded,
  lockKeys,
  toApiKey,
} from './key-changes.ts'

const { sql } = Prisma

type WithIdempotencyKey = { idempotencyKey?: string | null | undefined }

/** A key with its secret, which no later read returns. */
export type ApiKeyWithSecret = { apiKey: ApiKey; secret: string; replayed: boolean }

export function apiKeyServices(deps: Pick<Deps, 'database' | 'secrets' | 'rememberedKeys'>) {
  const { database } = deps

  return {
    /** The account's active keys, newest first. */
    async list(actor: Actor): Promise<ApiKey[]> {
      authorize(actor, 'apiKeys.list')
      return await findActiveKeys(database, actor, sql`true`)
    },

    /** The account's active keys with these ids. Keys of other accounts are not found. */
    async byIds(actor: Actor, ids: readonly number[]): Promise<ApiKey[]> {
      authorize(actor, 'apiKeys.list')
      return await findActiveKeys(database, actor, sql`id = ANY(${[...ids]}::int[])`)
    },

    /** The key of the caller, which needs no permission to read itself. Null for an instance's own key. */
    async current(actor: Actor): Promise<ApiKey | null> {
      if (isInstanceKey(actor)) return null
      const [key] = await findActiveKeys(database, actor, sql`id = ${actor.apiKeyId} AND public_id = ${actor.publicId}`)
      if (!key) throw keyEnded()
      return key
    },

    async create(
      actor: Actor,
      { idempotencyKey, ...input }: ApiKeyInput & WithIdempotencyKey,
    ): Promise<ApiKeyWithSecret> {
      authorize(actor, 'apiKeys.create')
      const { name, permissions, expiresAt } = parseApiKeyInput(input)
      const request = { operation: 'apiKeys.create' as const, input: { name, permissions, expiresAt }, idempotencyKey }
      const work = async (tx: Transaction) => {
        const { at } = tx
        if (expiresAt && expiresAt <= at) throw invalidInput([{ path: 'expiresAt', message: 'is in the past.' }])
        const { row, key } = generateApiKey({ name, permissions, expiresAt })
        const [made] = await tx.rows(sql`
          INSERT INTO api_keys (account_id, name, public_id, secret_hash, permissions, expires_at, created_at)
          SELECT ${actor.accountId}, ${name}, ${row.publicId}, ${row.secretHash},
            ${permissions && JSON.stringify(permissions)}::jsonb, ${expiresAt}, ${at}
          WHERE (SELECT count(*) FROM api_keys WHERE ${activeKeySql(actor, sql`${at}::timestamptz`)}) < ${maxApiKeys} RETURNING ${apiKeyColumns}`)
        if (!made)
          throw new DomainError('CONFLICT', `An account has at most ${maxApiKeys} API keys. Delete one first.`, {
            subject: null,
          })
        return await recordKeyChange(tx, actor, 'API_KEY_CREATED', toApiKey(made), key, at)
      }
      const checkPermission = async (tx: Transaction) => {
        const caller = await lockKeys(tx, actor)
        authorize(caller, 'apiKeys.create')
        checkNotWider(caller, { permissions, expiresAt })
        await checkKeyHasNoLimit(tx, actor)
      }
      const read = async (tx: Transaction, stored: StoredSecret) => {
        const made = await readWithSecret(tx, actor, stored)
        // Another request may have given the key more permissions since.
        checkNotWider(await lockKeys(tx, actor), made.apiKey)
        return made
      }
      const { answer, replayed } = await runAndRead(deps, actor, request, { checkPermission, work, read })
      return { ...answer, replayed }
    },

    /** Gives a key a new secret. The old secret fails at once, even when a key resets itself. */
    async rotateSecret(actor: Actor, id: bigint, idempotencyKey?: string | null): Promise<ApiKeyWithSecret> {
      authorize(actor, 'apiKeys.reset', { id: Number(id) })
      const request = { operation: 'apiKeys.reset' as const, input: { id: Number(id) }, idempotencyKey }
      const work = async (tx: Transaction) => {
        const { at } = tx
        const { row, key } = generateApiKey({ permissions: null })
        const [made] = await tx.rows(sql`
          UPDATE api_keys SET public_id = ${row.publicId}, secret_hash = ${row.secretHash}, last_used_at = NULL
          WHERE id = ${String(id)}::bigint AND ${activeKeySql(actor, sql`${at}::timestamptz`)} RETURNING ${apiKeyColumns}`)
        if (!made) throw notFound('ApiKey', id)
        return await recordKeyChange(tx, actor, 'API_KEY_SECRET_ROTATED', toApiKey(made), key, at)
      }
      const checkPermission = async (tx: Transaction) => {
        const caller = await lockKeys(tx, actor)
        authorize(caller, 'apiKeys.reset', { id: Number(id) })
        const [existing] = await findActiveKeys(tx, actor, sql`id = ${String(id)}::bigint`)
        if (!existing) throw notFound('ApiKey', id)
        // The answer contains the new secret, so the caller could do everything that the key may do.
        checkNotWider(caller, existing)
        if (existing.id !== actor.apiKeyId) await checkKeyHasNoLimit(tx, actor)
      }
      const read = (tx: Transaction, stored: StoredSecret) => readWithSecret(tx, actor, stored)
      const running = runAndRead(deps, actor, request, { checkPermission, work, read })
      const { answer, replayed } = await running.finally(deps.rememberedKeys.forget)
      return { ...answer, replayed }
    },

    /**
     * Revokes a key, even the caller's own or one with more permissions. The keys of the instances that this key rented
     * end, too, unless `keepInstanceKeys` is set. None of these keys authenticates a request to this gateway that starts
     * after this call returns; other gateways are told at once, and believe no key for longer than a second.
     */
    async delete(actor: Actor, id: bigint, { keepInstanceKeys = false } = {}): Promise<void> {
      authorize(actor, 'apiKeys.revoke', { id: Number(id) })
      await transaction(database, async tx => {
        const { at } = tx
        authorize(await lockKeys(tx, actor), 'apiKeys.revoke', { id: Number(id) })
        const [row] = await tx.rows(sql`
          UPDATE api_keys SET revoked_at = ${at}, keep_instance_keys = ${keepInstanceKeys}
          WHERE id = ${String(id)}::bigint AND ${activeKeySql(actor, sql`${at}::timestamptz`)} RETURNING ${apiKeyColumns}`)
        if (!row) throw notFound('ApiKey', id)
        const event = { kind: 'API_KEY_DELETED' as const, accountId: actor.accountId, actor: apiKeyActor(actor) }
        await recordEvents(tx, [{ ...event, before: apiKeyFactsOf(toApiKey(row)) }], at)
      }).finally(deps.rememberedKeys.forget)
    },
  }
}

/** What is stored under an idempotency key. */
type StoredSecret = { id: number; secret: string }

async function recordKeyChange(
  tx: Transaction,
  { accountId, apiKeyId }: Actor,
  kind: 'API_KEY_CREATED' | 'API_KEY_SECRET_ROTATED',
  apiKey: ApiKey,
  secret: string,
  at: Date,
): Promise<StoredSecret> {
  await recordEvents(tx, [{ kind, accountId, actor: apiKeyActor({ apiKeyId }), after: apiKeyFactsOf(apiKey) }], at)
  return { id: apiKey.id, secret }
}

/** The key as it is now, if the secret is still its own. */
async function readWithSecret(
  tx: Transaction,
  actor: Actor,
  { id, secret }: StoredSecret,
): Promise<{ apiKey: ApiKey; secret: string }> {
  const publicId = parseApiKey(secret)?.publicId
  const [apiKey] = await findActiveKeys(tx, actor, sql`id = ${id} AND public_id = ${publicId}`)
  if (!apiKey) throw secretEnded('ApiKey', id)
  return { apiKey, secret }
}
