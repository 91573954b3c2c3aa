import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { type ApiKey, maxApiKeys } from '../../../domain/accounts/api-keys.ts'
import { type ApiKeyWish, readApiKeyWish } from '../../../domain/accounts/api-keys-create.ts'
import { lacksOf, printLack } from '../../../domain/accounts/permissions/cover.ts'
import type { Actor } from '../../../domain/actor.ts'
import { DomainError, invalidInput, notFound } from '../../../domain/errors.ts'
import { authorise } from '../../authorize.ts'
import { refuseLimited } from '../../billing/limits/limits.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { once, type Plain } from '../../idempotency.ts'
import { makeApiKey } from './identity.ts'

const { sql } = Prisma

type Repeatable = { idempotencyKey?: string | null | undefined }

/** A key with its secret, which is shown in this answer and never again. */
export type ApiKeySecret = { apiKey: ApiKey; secret: string; replayed: boolean }

const columns = sql`id, name, public_id, permissions, created_at, expires_at, last_used_at`

export function apiKeyServices(deps: Pick<Deps, 'database' | 'secrets'>) {
  const { database } = deps

  return {
    /** The account's keys that work, the newest first. */
    async list(actor: Actor): Promise<ApiKey[]> {
      authorise(actor, 'apiKeys.list')
      return await find(actor, sql`true`)
    },

    /** Those of the account's keys that work. Another account's are not found. */
    async byIds(actor: Actor, ids: readonly number[]): Promise<ApiKey[]> {
      authorise(actor, 'apiKeys.list')
      return await find(actor, sql`id = ANY(${[...ids]}::int[])`)
    },

    async create(actor: Actor, { idempotencyKey, ...wish }: ApiKeyWish & Repeatable): Promise<ApiKeySecret> {
      authorise(actor, 'apiKeys.create')
      const { name, permissions, expiresAt } = readApiKeyWish(wish)
      await checkWidth(actor, { permissions, expiresAt })
      const request = { operation: 'apiKeys.create' as const, input: { name, permissions, expiresAt }, idempotencyKey }
      const make = async (tx: Transaction) => {
        const { at } = tx
        if (expiresAt && expiresAt <= at) throw invalidInput([{ path: 'expiresAt', message: 'is in the past.' }])
        const { row, key } = makeApiKey({ name, permissions, expiresAt })
        const [made] = await tx.rows(sql`
          INSERT INTO api_keys (account_id, name, public_id, secret_hash, permissions, expires_at, created_at)
          SELECT ${actor.accountId}, ${name}, ${row.publicId}, ${row.secretHash},
            ${permissions && JSON.stringify(permissions)}::jsonb, ${expiresAt}, ${at}
          WHERE (SELECT count(*) FROM api_keys WHERE ${living(actor, sql`${at}::timestamptz`)}) < ${maxApiKeys} RETURNING ${columns}`)
        if (!made)
          throw new DomainError('CONFLICT', `An account has at most ${maxApiKeys} API keys. Revoke one first.`, {
            subject: null,
          })
        return await written(tx, actor, 'API_KEY_CREATED', toApiKey(made), key, at)
      }
      const permit = async (tx: Transaction) => {
        await lockKeys(tx, actor, tx.at)
        await refuseLimited(tx, actor)
      }
      const { result, replayed } = await once(deps, actor, request, make, permit)
      return { ...fromPlain(result), replayed }
    },

    /** Gives a key a new secret. From then on the old one fails, also when a key resets itself. */
    async reset(actor: Actor, id: bigint, idempotencyKey?: string | null): Promise<ApiKeySecret> {
      authorise(actor, 'apiKeys.reset', { id: Number(id) })
      const [kept] = await find(actor, sql`id = ${String(id)}::bigint`)
      if (!kept) throw notFound('ApiKey', id)
      // Whoever resets a key has it: its secret is in the answer.
      await checkWidth(actor, kept)
      const request = { operation: 'apiKeys.reset' as const, input: { id: kept.id }, idempotencyKey }
      const renew = async (tx: Transaction) => {
        const { at } = tx
        const { row, key } = makeApiKey(kept)
        const [made] = await tx.rows(sql`
          UPDATE api_keys SET public_id = ${row.publicId}, secret_hash = ${row.secretHash}, last_used_at = NULL
          WHERE id = ${String(id)}::bigint AND ${living(actor, sql`${at}::timestamptz`)} RETURNING ${columns}`)
        if (!made) throw notFound('ApiKey', id)
        return await written(tx, actor, 'API_KEY_RESET', toApiKey(made), key, at)
      }
      const permit = async (tx: Transaction) => {
        await lockKeys(tx, actor, tx.at)
        if (kept.id !== actor.apiKeyId) await refuseLimited(tx, actor)
      }
      const { result, replayed } = await once(deps, actor, request, renew, permit)
      return { ...fromPlain(result), replayed }
    },

    /**
     * Ends a key, also a wider one or itself, and the keys of the instances that it rented unless these are kept. No
     * request that starts after the answer gets in with any of them.
     */
    async revoke(actor: Actor, id: bigint, { keepInstanceKeys = false } = {}): Promise<void> {
      authorise(actor, 'apiKeys.revoke', { id: Number(id) })
      await transaction(database, async tx => {
        const { at } = tx
        await lockKeys(tx, actor, at)
        const [row] = await tx.rows(sql`
          UPDATE api_keys SET revoked_at = ${at}, keep_instance_keys = ${keepInstanceKeys}
          WHERE id = ${String(id)}::bigint AND ${living(actor, sql`${at}::timestamptz`)} RETURNING ${columns}`)
        if (!row) throw notFound('ApiKey', id)
        const event = { type: 'API_KEY_REVOKED' as const, accountId: actor.accountId, apiKeyId: actor.apiKeyId }
        await recordEvents(tx, [{ ...event, before: factsOf(toApiKey(row)) }], at)
      })
    },
  }
  async function find(actor: Actor, condition: Prisma.Sql): Promise<ApiKey[]> {
    const rows = await database.rows(sql`
      SELECT ${columns} FROM api_keys WHERE ${living(actor, database.now)} AND ${condition} ORDER BY id DESC LIMIT ${maxApiKeys}`)
    return rows.map(toApiKey)
  }

  /** Nobody gets more by a key than he has: neither in what it may do, nor in how long it lives. */
  async function checkWidth(actor: Actor, { permissions, expiresAt }: Pick<ApiKey, 'permissions' | 'expiresAt'>) {
    const lacks = lacksOf(actor.permissions, permissions)
    if (lacks.length > 0) {
      const message = `This key may not give what it has not got: it lacks ${lacks.map(printLack).join(', ')}.`
      throw new DomainError('FORBIDDEN', message, { missing: [...new Set(lacks.map(({ category }) => category))] })
    }
    const [row] = await database.rows(sql`SELECT expires_at FROM api_keys WHERE id = ${actor.apiKeyId}`)
    const end = row?.[0] as Date | null
    if (!end || (expiresAt && expiresAt <= end)) return
    const message = `This key may not give what outlives it: it expires at ${end.toISOString()}.`
    throw new DomainError('FORBIDDEN', message, { missing: [] })
  }
}

function living({ accountId }: Actor, now: Prisma.Sql): Prisma.Sql {
  return sql`account_id = ${accountId} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`
}

/** One at a time changes the keys of an account, and nobody with a key that ended, or was reset, since he asked. */
async function lockKeys(tx: Transaction, actor: Actor, at: Date): Promise<void> {
  await tx.rows(sql`SELECT FROM accounts WHERE id = ${actor.accountId} FOR NO KEY UPDATE`)
  const [own] = await tx.rows(sql`
    SELECT id FROM api_keys WHERE id = ${actor.apiKeyId} AND public_id = ${actor.publicId} AND ${living(actor, sql`${at}::timestamptz`)}`)
  if (!own) throw new DomainError('UNAUTHENTICATED', 'Invalid user key')
}

async function written(
  tx: Transaction,
  { accountId, apiKeyId }: Actor,
  type: 'API_KEY_CREATED' | 'API_KEY_RESET',
  apiKey: ApiKey,
  secret: string,
  at: Date,
): Promise<Plain> {
  await recordEvents(tx, [{ type, accountId, apiKeyId, after: factsOf(apiKey) }], at)
  const { createdAt, expiresAt, lastUsedAt: _, ...facts } = apiKey
  return { ...facts, createdAt: createdAt.toISOString(), expiresAt: expiresAt?.toISOString() ?? null, secret }
}

/** What toPlain made, as an idempotency key keeps it. */
function fromPlain({ secret, ...plain }: Plain): { apiKey: ApiKey; secret: string } {
  const { createdAt, expiresAt, ...facts } = plain as Omit<ApiKey, 'createdAt' | 'expiresAt'> & {
    createdAt: string
    expiresAt: string | null
  }
  const dates = { createdAt: new Date(createdAt), expiresAt: expiresAt === null ? null : new Date(expiresAt) }
  return { apiKey: { ...facts, ...dates, lastUsedAt: null }, secret: secret as string }
}

/** What an event says of a key: never its secret. */
export function factsOf({
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
