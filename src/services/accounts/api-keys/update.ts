import { isDeepStrictEqual } from 'node:util'
import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { type ApiKeyChange, parseApiKeyChange } from '../../../domain/accounts/api-key-input.ts'
import type { Actor } from '../../../domain/actor.ts'
import { invalidInput, notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize } from '../../authorize.ts'
import { checkKeyHasNoLimit } from '../../billing/limits/limits.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { type ApiKeySelect, findKeys, ownActiveKeys, type SelectedApiKey, settingsOf } from './find.ts'
import { apiKeyFactsOf, checkNotWider, findActiveKey, lockKeys } from './key-changes.ts'

export function apiKeyUpdateServices({ database, rememberedKeys }: Pick<Deps, 'database' | 'rememberedKeys'>) {
  return {
    /**
     * Changes the name, the permissions or the expiry of a key. Its secret stays. Whoever changes permissions or the
     * expiry needs all permissions that the key has afterwards, and must not expire earlier than the key.
     */
    async update<Select extends ApiKeySelect>(
      actor: Actor,
      id: bigint,
      input: ApiKeyChange,
      select: Select,
    ): Promise<SelectedApiKey<Select>> {
      authorize(actor, 'apiKeys.update', { id: Number(id) })
      const change = parseApiKeyChange(input)
      const updating = transaction(database, async tx => {
        const found = { id: await updateInTransaction(tx, actor, id, change) }
        const [apiKey] = await tx.prisma(prisma => findKeys(prisma, found, select))
        if (!apiKey) throw notFound('ApiKey', id)
        return apiKey
      })
      return await updating.finally(() => rememberedKeys.forget(Number(id)))
    },
  }
}

async function updateInTransaction(
  tx: Transaction,
  actor: Actor,
  id: bigint,
  change: ReturnType<typeof parseApiKeyChange>,
): Promise<number> {
  const { at } = tx
  const caller = await lockKeys(tx, actor)
  authorize(caller, 'apiKeys.update', { id: Number(id) })
  const key = await findActiveKey(tx, actor, id)
  const before = settingsOf(key)
  // Otherwise a key with a limit could give more permissions to a key without one, and spend with that key.
  if (key.id !== actor.apiKeyId) await checkKeyHasNoLimit(tx, actor, 'change other keys')
  const after = { ...before, ...change }
  if (change.expiresAt && change.expiresAt <= at)
    throw invalidInput([{ path: 'expiresAt', message: 'is in the past.' }])
  if ('permissions' in change || 'expiresAt' in change) checkNotWider(caller, after, 'change')
  if (isDeepStrictEqual(after, before)) return key.id
  const data = { ...after, permissions: after.permissions ?? Prisma.DbNull }
  // An operator revokes keys without the lock.
  const where = { ...ownActiveKeys(actor, at), id: key.id }
  const { count } = await tx.prisma(prisma => prisma.apiKey.updateMany({ where, data }))
  if (count === 0) throw notFound('ApiKey', id)
  const event = { kind: 'API_KEY_UPDATED' as const, accountId: actor.accountId, actor: apiKeyActor(actor) }
  await recordEvents(tx, [{ ...event, before: apiKeyFactsOf(key.id, before), after: apiKeyFactsOf(key.id, after) }], at)
  return key.id
}
