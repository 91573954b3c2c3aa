import { isDeepStrictEqual } from 'node:util'
import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { type ApiKeyChange, parseApiKeyChange } from '../../../domain/accounts/api-key-input.ts'
import type { ApiKey } from '../../../domain/accounts/api-keys.ts'
import type { Actor } from '../../../domain/actor.ts'
import { invalidInput, notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize } from '../../authorize.ts'
import { checkKeyHasNoLimit } from '../../billing/limits/limits.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { activeKeySql, apiKeyFactsOf, checkNotWider, findActiveKeys, lockKeys } from './key-changes.ts'

const { sql } = Prisma

export function apiKeyUpdateServices({ database, rememberedKeys }: Pick<Deps, 'database' | 'rememberedKeys'>) {
  return {
    /**
     * Changes the name, the permissions or the expiry of a key. Its secret stays. Whoever changes permissions or the
     * expiry needs all permissions that the key has afterwards, and must not expire earlier than the key.
     */
    async update(actor: Actor, id: bigint, input: ApiKeyChange): Promise<ApiKey> {
      authorize(actor, 'apiKeys.update', { id: Number(id) })
      const change = parseApiKeyChange(input)
      const updating = transaction(database, tx => updateInTransaction(tx, actor, id, change))
      return await updating.finally(rememberedKeys.forget)
    },
  }
}

async function updateInTransaction(
  tx: Transaction,
  actor: Actor,
  id: bigint,
  change: ReturnType<typeof parseApiKeyChange>,
): Promise<ApiKey> {
  const { at } = tx
  const caller = await lockKeys(tx, actor)
  authorize(caller, 'apiKeys.update', { id: Number(id) })
  const [before] = await findActiveKeys(tx, actor, sql`id = ${String(id)}::bigint`)
  if (!before) throw notFound('ApiKey', id)
  // Otherwise a key with a limit could give more permissions to a key without one, and spend with that key.
  if (before.id !== actor.apiKeyId) await checkKeyHasNoLimit(tx, actor, 'change other keys')
  const after = { ...before, ...change }
  if (change.expiresAt && change.expiresAt <= at)
    throw invalidInput([{ path: 'expiresAt', message: 'is in the past.' }])
  if ('permissions' in change || 'expiresAt' in change) checkNotWider(caller, after, 'change')
  if (isDeepStrictEqual(after, before)) return before
  const { name, permissions, expiresAt } = after
  // An operator revokes keys without the lock.
  const [updated] = await tx.rows(sql`
    UPDATE api_keys SET name = ${name}, permissions = ${permissions && JSON.stringify(permissions)}::jsonb,
      expires_at = ${expiresAt}
    WHERE id = ${before.id} AND ${activeKeySql(actor, sql`${at}::timestamptz`)} RETURNING id`)
  if (!updated) throw notFound('ApiKey', id)
  const event = { kind: 'API_KEY_UPDATED' as const, accountId: actor.accountId, actor: apiKeyActor(actor) }
  await recordEvents(tx, [{ ...event, before: apiKeyFactsOf(before), after: apiKeyFactsOf(after) }], at)
  return after
}
