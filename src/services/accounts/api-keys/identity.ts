import { hash, randomInt, timingSafeEqual } from 'node:crypto'
import { Prisma } from '../../../database/generated/client.ts'
import { bool, bytea, float8, int4, jsonb, nullable, text, timestamptz } from '../../../database/row-types.ts'
import {
  instancePermissions,
  parseApiKey,
  parseInstanceKey,
  printApiKey,
  printInstanceKey,
  publicIdLength,
  secretLength,
} from '../../../domain/accounts/api-keys.ts'
import { accountDisabled, disabledOf } from '../../../domain/accounts/disabled.ts'
import type { Permissions } from '../../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../../domain/actor.ts'
import { createBatcher } from '../../batches.ts'
import type { Deps } from '../../deps.ts'
import type { Secrets } from '../../secrets.ts'
import { validKeySql } from './find.ts'
import type { HowFresh, KnownKey } from './remembered-keys.ts'

type IdentityDeps = Pick<Deps, 'database' | 'secrets' | 'rememberedKeys' | 'log'>

export type NewApiKey = { name?: string; permissions: Permissions | null; expiresAt?: Date | null }

export function identityServices({ database, secrets, rememberedKeys, log }: IdentityDeps) {
  const readTogether = createBatcher<{ publicId: string }, KnownKey | undefined>(
    {
      many: readKeys,
      one: async wanted => (await readKeys([wanted])).get(wanted),
      // A read is as short for one account as for another.
      accountOf: () => 0,
    },
    log,
  )
  return {
    /**
     * Finds the actor of a key as it is now or, if that is as fresh as asked for, as it was within the last second. Throws for a
     * valid key of a disabled account.
     */
    async identify(key: string, how: HowFresh): Promise<Actor | undefined> {
      const parsed = parseApiKey(key)
      if (!parsed) return await identifyInstance(key)
      const { publicId } = parsed
      const known = await rememberedKeys.find(publicId, () => readTogether({ publicId }), how)
      if (!known || !hasSecret(known, parsed.secret)) return undefined
      const { id, accountId, permissions, disabled } = known
      if (disabled) throw accountDisabled(disabled)
      return { accountId, apiKeyId: id, publicId, permissions }
    },

    /** The account of a key that this gateway has read before. The key may have ended: no reason to answer anything. */
    recallAccount(key: string): number | undefined {
      const parsed = parseApiKey(key)
      const known = parsed && rememberedKeys.recall(parsed.publicId)
      return known && hasSecret(known, parsed.secret) ? known.accountId : undefined
    },
  }

  function hasSecret({ secretHash }: KnownKey, secret: string): boolean {
    return timingSafeEqual(secretHash, hashSecret(secret))
  }

  /** Keys that requests need at the same time share a statement. */
  async function readKeys<Wanted extends { publicId: string }>(
    wanted: readonly Wanted[],
  ): Promise<Map<Wanted, KnownKey | undefined>> {
    const { nowSql } = database
    const rows = await database.query(
      Prisma.sql`
        SELECT k.public_id, k.id, k.account_id, k.secret_hash, k.permissions,
          extract(epoch FROM k.expires_at - ${nowSql})::float8 * 1000 AS remaining_ms,
          coalesce(k.last_used_at < ${nowSql} - interval '1 minute', true) AS is_stale, a.disabled_at, a.disabled_reason
        FROM api_keys k JOIN accounts a ON a.id = k.account_id
        WHERE k.public_id = ANY(${wanted.map(({ publicId }) => publicId)}::text[]) AND ${validKeySql(nowSql)}`,
      {
        ...{ publicId: text, id: int4, accountId: int4, secretHash: bytea },
        ...{ permissions: nullable(jsonb<Permissions>()), remainingMs: nullable(float8), isStale: bool },
        ...disabledRow,
      },
    )
    const stale = rows.filter(({ isStale }) => isStale).map(({ id }) => id)
    if (stale.length > 0) await recordUse(stale)
    const keys = new Map(rows.map(({ publicId, ...key }) => [publicId, { ...key, disabled: disabledOf(key) }]))
    return new Map(wanted.map(one => [one, keys.get(one.publicId)]))
  }

  /**
   * Identifies an instance by its own key. That key ends when:
   * - the instance is destroyed;
   * - the API key that rented it is revoked, unless the revocation kept instance keys;
   * - that API key expires, even if revoked before, since nothing that a key creates outlives it.
   * A reset of the API key keeps instance keys. Actions of the instance count as actions of the API key.
   */
  async function identifyInstance(key: string): Promise<Actor | undefined> {
    const parsed = parseInstanceKey(key)
    if (!parsed) return undefined
    const { instanceId, proof } = parsed
    if (!timingSafeEqual(Buffer.from(proof), Buffer.from(proofOf(secrets, instanceId)))) return undefined
    const [row] = await database.query(
      Prisma.sql`
        SELECT i.account_id, i.api_key_id, a.disabled_at, a.disabled_reason
        FROM instances i JOIN api_keys k ON k.id = i.api_key_id JOIN accounts a ON a.id = i.account_id
        WHERE i.id = ${String(instanceId)}::bigint AND i.destroyed_at IS NULL
          AND (k.revoked_at IS NULL OR k.keep_instance_keys) AND (k.expires_at IS NULL OR k.expires_at > ${database.nowSql})`,
      { accountId: int4, apiKeyId: int4, ...disabledRow },
    )
    const disabled = row && disabledOf(row)
    if (disabled) throw accountDisabled(disabled)
    if (!row) return undefined
    const { accountId, apiKeyId } = row
    return { accountId, apiKeyId, publicId: '', permissions: instancePermissions(instanceId) }
  }

  /**
   * Records that keys were used, at most once a minute per key across all gateways. A key that another transaction changes is
   * left to the next request.
   */
  async function recordUse(ids: readonly number[]): Promise<void> {
    const { nowSql } = database
    await database.execute(Prisma.sql`
      UPDATE api_keys SET last_used_at = ${nowSql} FROM (
        SELECT id FROM api_keys WHERE id = ANY(${ids}::int[]) AND (last_used_at IS NULL OR last_used_at < ${nowSql} - interval '1 minute')
        FOR NO KEY UPDATE SKIP LOCKED
      ) used WHERE api_keys.id = used.id`)
  }
}

const disabledRow = { disabledAt: nullable(timestamptz), disabledReason: nullable(text) }

/** The key with which an instance may start, stop and destroy itself. */
export function instanceApiKey(secrets: Secrets, instanceId: bigint): string {
  return printInstanceKey(instanceId, proofOf(secrets, instanceId))
}

function proofOf(secrets: Secrets, instanceId: bigint): string {
  return secrets.digest('instance key', String(instanceId)).toString('hex')
}

/** The row to store, and the key to show once. */
export function generateApiKey({ name = '', permissions, expiresAt = null }: NewApiKey) {
  const [publicId, secret] = [randomText(publicIdLength), randomText(secretLength)]
  const row = {
    name,
    publicId,
    secretHash: Uint8Array.from(hashSecret(secret)),
    permissions: permissions ?? Prisma.DbNull,
    expiresAt,
  }
  return { row, key: printApiKey(publicId, secret) }
}

/** The secret has 238 random bits, so a fast hash is as safe as a slow one. */
function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
}
