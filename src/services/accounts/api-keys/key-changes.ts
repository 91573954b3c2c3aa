// What all changes of API keys share: their lock, their checks and their events.

import { Prisma } from '../../../database/generated/client.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { ApiKeySettings } from '../../../domain/accounts/api-keys.ts'
import { invalidKey } from '../../../domain/accounts/invalid-key.ts'
import { forbidden } from '../../../domain/accounts/permissions/forbidden.ts'
import { missingPermissions } from '../../../domain/accounts/permissions/missing.ts'
import type { Actor } from '../../../domain/actor.ts'
import { DomainError, notFound } from '../../../domain/errors.ts'
import { smallIds } from '../../small-ids.ts'
import { findKeys, ownActiveKeys, settingsOf, settingsSelect } from './find.ts'

const { sql } = Prisma

/** The caller with the permissions and the expiry that its key has now. */
export type LockedCaller = Actor & Pick<ApiKeySettings, 'expiresAt'>

/**
 * Serializes key changes of an account. Refuses a caller whose own key ended or was reset since the request began. A
 * change may also have narrowed the caller's key since, so checks must use the permissions that this returns.
 */
export async function lockKeys(tx: Transaction, actor: Actor): Promise<LockedCaller> {
  await tx.execute(sql`SELECT FROM accounts WHERE id = ${actor.accountId} FOR NO KEY UPDATE`)
  const { apiKeyId: id, publicId } = actor
  const where = { ...ownActiveKeys(actor, tx.at), id, publicId }
  const [own] = await tx.prisma(prisma => findKeys(prisma, where, settingsSelect))
  if (!own) throw keyEnded()
  const { permissions, expiresAt } = settingsOf(own)
  return { ...actor, permissions, expiresAt }
}

/** The account's active key with this id. */
export async function findActiveKey(tx: Transaction, actor: Actor, id: bigint) {
  const where = { ...ownActiveKeys(actor, tx.at), id: { in: smallIds([id]) } }
  const [key] = await tx.prisma(prisma => findKeys(prisma, where, settingsSelect))
  if (!key) throw notFound('ApiKey', id)
  return key
}

/** The error for a caller whose own key ended or was reset since the request began. */
export function keyEnded(): DomainError<'UNAUTHENTICATED'> {
  return invalidKey()
}

/** A key cannot give another key more permissions or a later expiry than its own. */
export function checkNotWider(
  caller: LockedCaller,
  { permissions, expiresAt }: Pick<ApiKeySettings, 'permissions' | 'expiresAt'>,
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
export function apiKeyFactsOf(id: number, { name, permissions, expiresAt }: ApiKeySettings) {
  return { apiKeyId: id, name, permissions, expiresAt }
}
