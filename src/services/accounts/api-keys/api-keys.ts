import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { type ApiKeyInput, parseApiKeyInput } from '../../../domain/accounts/api-key-input.ts'
import { type ApiKey, maxApiKeys } from '../../../domain/accounts/api-keys.ts'
import { forbidden } from '../../../domain/accounts/permissions/forbidden.ts'
import { missingPermissions } from '../../../domain/accounts/permissions/missing.ts'
import { type Actor, isInstanceKey } from '../../../domain/actor.ts'
import { DomainError, invalidInput, notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize } from '../../authorize.ts'
import { checkKeyHasNoLimit } from '../../billing/limits/limits.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { runIdempotent } from '../../idempotency.ts'
import { generateApiKey } from './identity.ts'

const { sql } = Prisma

type WithIdempotencyKey = { idempotencyKey?: string | null | undefined }

/** A key with its secret, which no later read returns. */
export type ApiKeyWithSecret = { apiKey: ApiKey; secret: string; replayed: boolean }

const columns = sql`id, name, public_id, permissions, created_at, expires_at, last_used_at`

export function apiKeyServices(deps: Pick<Deps, 'database' | 'secrets'>) {
  const { database } = deps

  return {
    /** The account's active keys, newest first. */
    async list(actor: Actor): Promise<ApiKey[]> {
      authorize(actor, 'apiKeys.list')
      return await findActiveKeys(actor, sql`true`)
    },

    /** The account's active keys with these ids. Keys of other accounts are not found. */
    async byIds(actor: Actor, ids: readonly number[]): Promise<ApiKey[]> {
      authorize(actor, 'apiKeys.list')
      return await findActiveKeys(actor, sql`id = ANY(${[...ids]}::int[])`)
    },

    /** The key of the caller, which needs no permission to read itself. Null for an instance's own key. */
    async current(actor: Actor): Promise<ApiKey | null> {
      if (isInstanceKey(actor)) return null
      const [key] = await findActiveKeys(actor, sql`id = ${actor.apiKeyId} AND public_id = ${actor.publicId}`)
      if (!key) throw keyEnded()
      return key
    },

    async create(
      actor: Actor,
      { idempotencyKey, ...input }: ApiKeyInput & WithIdempotencyKey,
    ): Promise<ApiKeyWithSecret> {
      authorize(actor, 'apiKeys.create')
      const { name, permissions, expiresAt } = parseApiKeyInput(input)
      await checkNotWider(actor, { permissions, expiresAt })
      const request = { operation: 'apiKeys.create' as const, input: { name, permissions, expiresAt }, idempotencyKey }
      const insertKey = async (tx: Transaction) => {
        const { at } = tx
        if (expiresAt && expiresAt <= at) throw invalidInput([{ path: 'expiresAt', message: 'is in the past.' }])
        const { row, key } = generateApiKey({ name, permissions, expiresAt })
        const [made] = await tx.rows(sql`
          INSERT INTO api_keys (account_id, name, public_id, secret_hash, permissions, expires_at, created_at)
          SELECT ${actor.accountId}, ${name}, ${row.publicId}, ${row.secretHash},
            ${permissions && JSON.stringify(permissions)}::jsonb, ${expiresAt}, ${at}
          WHERE (SELECT count(*) FROM api_keys WHERE ${activeKeySql(actor, sql`${at}::timestamptz`)}) < ${maxApiKeys} RETURNING ${columns}`)
        if (!made)
          throw new DomainError('CONFLICT', `An account has at most ${maxApiKeys} API keys. Revoke one first.`, {
            subject: null,
          })
        return await recordKeyChange(tx, actor, 'API_KEY_CREATED', toApiKey(made), key, at)
      }
      const permit = async (tx: Transaction) => {
        await lockKeys(tx, actor, tx.at)
        await checkKeyHasNoLimit(tx, actor)
      }
      const { result, replayed } = await runIdempotent(deps, actor, request, insertKey, permit)
      return { ...fromStored(result), replayed }
    },

    /** Gives a key a new secret. The old secret fails at once, even when a key resets itself. */
    async reset(actor: Actor, id: bigint, idempotencyKey?: string | null): Promise<ApiKeyWithSecret> {
      authorize(actor, 'apiKeys.reset', { id: Number(id) })
      const [existing] = await findActiveKeys(actor, sql`id = ${String(id)}::bigint`)
      if (!existing) throw notFound('ApiKey', id)
      // The answer contains the new secret, so the caller could do everything that the key may do.
      await checkNotWider(actor, existing)
      const request = { operation: 'apiKeys.reset' as const, input: { id: existing.id }, idempotencyKey }
      const replaceSecret = async (tx: Transaction) => {
        const { at } = tx
        const { row, key } = generateApiKey(existing)
        const [made] = await tx.rows(sql`
          UPDATE api_keys SET public_id = ${row.publicId}, secret_hash = ${row.secretHash}, last_used_at = NULL
          WHERE id = ${String(id)}::bigint AND ${activeKeySql(actor, sql`${at}::timestamptz`)} RETURNING ${columns}`)
        if (!made) throw notFound('ApiKey', id)
        return await recordKeyChange(tx, actor, 'API_KEY_SECRET_ROTATED', toApiKey(made), key, at)
      }
      const permit = async (tx: Transaction) => {
        await lockKeys(tx, actor, tx.at)
        if (existing.id !== actor.apiKeyId) await checkKeyHasNoLimit(tx, actor)
      }
      const { result, replayed } = await runIdempotent(deps, actor, request, replaceSecret, permit)
      return { ...fromStored(result), replayed }
    },

    /**
     * Revokes a key, even the caller's own or one with more permissions. The keys of the instances that this key rented
     * end, too, unless `keepInstanceKeys` is set. None of these keys authenticates a request that starts after this
     * call returns.
     */
    async revoke(actor: Actor, id: bigint, { keepInstanceKeys = false } = {}): Promise<void> {
      authorize(actor, 'apiKeys.revoke', { id: Number(id) })
      await transaction(database, async tx => {
        const { at } = tx
        await lockKeys(tx, actor, at)
        const [row] = await tx.rows(sql`
          UPDATE api_keys SET revoked_at = ${at}, keep_instance_keys = ${keepInstanceKeys}
          WHERE id = ${String(id)}::bigint AND ${activeKeySql(actor, sql`${at}::timestamptz`)} RETURNING ${columns}`)
        if (!row) throw notFound('ApiKey', id)
        const event = { kind: 'API_KEY_DELETED' as const, accountId: actor.accountId, actor: apiKeyActor(actor) }
        await recordEvents(tx, [{ ...event, before: apiKeyFactsOf(toApiKey(row)) }], at)
      })
    },
  }
  async function findActiveKeys(actor: Actor, condition: Prisma.Sql): Promise<ApiKey[]> {
    const rows = await database.rows(sql`
      SELECT ${columns} FROM api_keys WHERE ${activeKeySql(actor, database.nowSql)} AND ${condition} ORDER BY id DESC LIMIT ${maxApiKeys}`)
    return rows.map(toApiKey)
  }

  /** A key cannot give another key more permissions or a later expiry than its own. */
  async function checkNotWider(actor: Actor, { permissions, expiresAt }: Pick<ApiKey, 'permissions' | 'expiresAt'>) {
    const missing = missingPermissions(actor.permissions, permissions)
    if (missing.length > 0) throw forbidden('grant', missing)
    const [row] = await database.rows(sql`SELECT expires_at FROM api_keys WHERE id = ${actor.apiKeyId}`)
    const end = row?.[0] as Date | null
    if (!end || (expiresAt && expiresAt <= end)) return
    const message = `This key expires at ${end.toISOString()}, so it cannot issue a key that expires later or never.`
    throw new DomainError('FORBIDDEN', message, { missing: [] })
  }
}

function activeKeySql({ accountId }: Actor, nowSql: Prisma.Sql): Prisma.Sql {
  return sql`account_id = ${accountId} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${nowSql})`
}

/** Serializes key changes of an account. Refuses a caller whose own key ended or was reset since the request began. */
async function lockKeys(tx: Transaction, actor: Actor, at: Date): Promise<void> {
  await tx.rows(sql`SELECT FROM accounts WHERE id = ${actor.accountId} FOR NO KEY UPDATE`)
  const [own] = await tx.rows(sql`
    SELECT id FROM api_keys WHERE id = ${actor.apiKeyId} AND public_id = ${actor.publicId} AND ${activeKeySql(actor, sql`${at}::timestamptz`)}`)
  if (!own) throw keyEnded()
}

/** The error for a caller whose own key ended or was reset since the request began. */
function keyEnded(): DomainError {
  return new DomainError('UNAUTHENTICATED', 'Invalid user key')
}

/** A key and its secret as stored under an idempotency key. */
type StoredApiKey = Omit<ApiKey, 'createdAt' | 'expiresAt' | 'lastUsedAt'> & {
  createdAt: string
  expiresAt: string | null
  secret: string
}

async function recordKeyChange(
  tx: Transaction,
  { accountId, apiKeyId }: Actor,
  kind: 'API_KEY_CREATED' | 'API_KEY_SECRET_ROTATED',
  apiKey: ApiKey,
  secret: string,
  at: Date,
): Promise<StoredApiKey> {
  await recordEvents(tx, [{ kind, accountId, actor: apiKeyActor({ apiKeyId }), after: apiKeyFactsOf(apiKey) }], at)
  const { createdAt, expiresAt, lastUsedAt: _, ...facts } = apiKey
  return { ...facts, createdAt: createdAt.toISOString(), expiresAt: expiresAt?.toISOString() ?? null, secret }
}

function fromStored({ secret, createdAt, expiresAt, ...facts }: StoredApiKey): { apiKey: ApiKey; secret: string } {
  const dates = { createdAt: new Date(createdAt), expiresAt: expiresAt === null ? null : new Date(expiresAt) }
  return { apiKey: { ...facts, ...dates, lastUsedAt: null }, secret }
}

/** What an event records about a key; never the key's secret. */
export function apiKeyFactsOf({
  id,
  name,
  permissions,
  expiresAt,
}: Pick<ApiKey, 'id' | 'name' | 'permissions' | 'expiresAt'>) {
  return { apiKeyId: id, name, permissions, expiresAt }
}

function toApiKey(row: unknown[]): ApiKey {
  const [id, name, publicId, permissions, createdAt, expiresAt, lastUsedAt] = row
  return { id, name, publicId, permissions, createdAt, expiresAt, lastUsedAt } as ApiKey
}
