// What all changes of API keys share: their lock, their checks and their events.

import { Prisma } from '../../../database/generated/client.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { type ApiKey, maxApiKeys } from '../../../domain/accounts/api-keys.ts'
import { forbidden } from '../../../domain/accounts/permissions/forbidden.ts'
import { missingPermissions } from '../../../domain/accounts/permissions/missing.ts'
import type { Actor } from '../../../domain/actor.ts'
import { DomainError } from '../../../domain/errors.ts'

const { sql } = Prisma

export const apiKeyColumns = sql`id, name, public_id, permissions, created_at, expires_at, last_used_at`

export function toApiKey(row: unknown[]): ApiKey {
  const [id, name, publicId, permissions, createdAt, expiresAt, lastUsedAt] = row
  return { id, name, publicId, permissions, createdAt, expiresAt, lastUsedAt } as ApiKey
}

export function activeKeySql({ accountId }: Actor, nowSql: Prisma.Sql): Prisma.Sql {
  return sql`account_id = ${accountId} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${nowSql})`
}

/** The account's active keys that meet a condition, newest first. */
export async function findActiveKeys(
  from: Pick<Transaction, 'rows' | 'nowSql'>,
  actor: Actor,
  condition: Prisma.Sql,
): Promise<ApiKey[]> {
  const rows = await from.rows(sql`
    SELECT ${apiKeyColumns} FROM api_keys WHERE ${activeKeySql(actor, from.nowSql)} AND ${condition} ORDER BY id DESC LIMIT ${maxApiKeys}`)
  return rows.map(toApiKey)
}

/** The caller with the permissions and the expiry that its key has now. */
export type LockedCaller = Actor & Pick<ApiKey, 'expiresAt'>

/**
 * Serializes key changes of an account. Refuses a caller whose own key ended or was reset since the request began. A
 * change may also have narrowed the caller's key since, so checks must use the permissions that this returns.
 */
export async function lockKeys(tx: Transaction, actor: Actor): Promise<LockedCaller> {
  await tx.rows(sql`SELECT FROM accounts WHERE id = ${actor.accountId} FOR NO KEY UPDATE`)
  const [own] = await tx.rows(sql`
    SELECT ${apiKeyColumns} FROM api_keys
    WHERE id = ${actor.apiKeyId} AND public_id = ${actor.publicId} AND ${activeKeySql(actor, sql`${tx.at}::timestamptz`)}`)
  if (!own) throw keyEnded()
  const { permissions, expiresAt } = toApiKey(own)
  return { ...actor, permissions, expiresAt }
}

/** The error for a caller whose own key ended or was reset since the request began. */
export function keyEnded(): DomainError {
  return new DomainError('UNAUTHENTICATED', 'Invalid user key')
}

/** A key cannot give another key more permissions or a later expiry than its own. */
export function checkNotWider(
  caller: LockedCaller,
  { permissions, expiresAt }: Pick<ApiKey, 'permissions' | 'expiresAt'>,
  verb: 'issue' | 'change' = 'issue',
): void {
  const missing = missingPermissions(caller.permissions, permissions)
  if (missing.length > 0) throw forbidden('grant', missing)
  const end = caller.expiresAt
  if (!end || (expiresAt && expiresAt <= end)) return
  const message = `This key expires at ${end.toISOString()}, so it cannot ${verb} a key that expires later or never.`
  throw new DomainError('FORBIDDEN', message, { missing: [] })
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
