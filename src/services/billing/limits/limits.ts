import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { checkLimitAmount } from '../../../domain/billing/limits.ts'
import type { SpendAction, SpendLimit, SpendLimitWithUsage, SpendWindow } from '../../../domain/billing/spend-limit.ts'
import { DomainError, notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize } from '../../authorize.ts'
import type { DataDeps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { lockAccount, readBalance } from '../balance.ts'
import { findLimits, readLimitsWithUsage } from './usage.ts'

const { sql } = Prisma

type SpendLimitInput = {
  /** The key whose spending is limited; null for the whole account. */
  apiKeyId: bigint | null
  window: SpendWindow
  amountNanos: bigint
  action: SpendAction
}

export function limitServices({ database }: DataDeps) {
  return {
    /** The current limits of the account and of its keys, oldest first. */
    async spendLimits(actor: Actor): Promise<SpendLimitWithUsage[]> {
      authorize(actor, 'billing.spendLimits')
      return await readLimitsWithUsage(database, await readBalance(database, actor.accountId))
    },

    /**
     * Sets or changes a limit. The account and each of its keys have at most one limit per window. A revoked key can
     * have limits, too: its instances may still run. Earlier spending in the window counts against the new limit.
     */
    async setSpendLimit(actor: Actor, input: SpendLimitInput): Promise<SpendLimitWithUsage> {
      authorize(actor, 'billing.setSpendLimit')
      checkLimitAmount(input.amountNanos)
      const id = await transaction(database, tx => setInTransaction(tx, actor, input))
      const limits = await readLimitsWithUsage(database, await readBalance(database, actor.accountId))
      const limit = limits.find(one => one.id === id)
      if (!limit)
        throw new DomainError('CONFLICT', 'Another request deleted this limit at the same time. Set it again.', {
          subject: null,
        })
      return limit
    },

    /** Removes a limit. `setSpendLimit` never removes a limit. */
    async deleteSpendLimit(actor: Actor, id: bigint): Promise<void> {
      authorize(actor, 'billing.deleteSpendLimit', { id: Number(id) })
      await transaction(database, tx => deleteInTransaction(tx, actor, id))
    },
  }
}

/** Returns the id of the limit. */
async function setInTransaction(tx: Transaction, actor: Actor, input: SpendLimitInput): Promise<number> {
  const { window, amountNanos, action } = input
  // `lockAccount` records a limit that was already reached before this change.
  const { accountId, at } = await lockAccount(tx, actor.accountId, tx.at)
  await checkKeyHasNoLimit(tx, actor)
  const apiKeyId = input.apiKeyId === null ? null : await findKeyId(tx, accountId, input.apiKeyId)
  if (apiKeyId === actor.apiKeyId)
    throw new DomainError('FORBIDDEN', 'An API key cannot set a limit for itself. Use another key.', { missing: [] })
  const limits = await findLimits(tx, accountId)
  const before = limits.find(limit => limit.window === window && limit.apiKeyId === apiKeyId)
  if (before && before.amountNanos === amountNanos && before.action === action) return before.id
  const [row] = await tx.rows(sql`
    INSERT INTO spend_limits (account_id, api_key_id, "window", amount_nanos, action, created_at)
    VALUES (${accountId}, ${apiKeyId}, ${window}::spend_window, ${amountNanos}, ${action}::spend_action, ${at})
    ON CONFLICT (account_id, coalesce(api_key_id, 0), "window") DO UPDATE SET amount_nanos = excluded.amount_nanos,
      action = excluded.action, created_at = excluded.created_at, reached_at = NULL RETURNING id`)
  const id = row?.[0] as number
  const after = limitEventFacts({ id, apiKeyId, window, amountNanos, action })
  await recordEvents(
    tx,
    [{ ...limitChangeEvent(actor), ...(before && { before: limitEventFacts(before) }), after }],
    at,
  )
  return id
}

async function deleteInTransaction(tx: Transaction, actor: Actor, id: bigint): Promise<void> {
  // `lockAccount` records a limit that was already reached before it is deleted.
  const { accountId, at } = await lockAccount(tx, actor.accountId, tx.at)
  await checkKeyHasNoLimit(tx, actor)
  const limit = (await findLimits(tx, accountId)).find(one => BigInt(one.id) === id)
  if (!limit) throw notFound('SpendLimit', id)
  await tx.rows(sql`DELETE FROM spend_limits WHERE id = ${limit.id}`)
  await recordEvents(tx, [{ ...limitChangeEvent(actor), before: limitEventFacts(limit) }], at)
}

function limitChangeEvent({ accountId, apiKeyId }: Actor) {
  return { kind: 'SPEND_LIMIT_CHANGED' as const, accountId, actor: apiKeyActor({ apiKeyId }), reason: 'USER_REQUEST' }
}

async function findKeyId(tx: Transaction, accountId: number, id: bigint): Promise<number> {
  const [row] = await tx.rows(
    sql`SELECT id FROM api_keys WHERE id = ${String(id)}::bigint AND account_id = ${accountId}`,
  )
  if (!row) throw notFound('ApiKey', id)
  return row[0] as number
}

/**
 * A key with a limit cannot get around that limit: the key cannot set limits, create keys or reset any key but itself.
 * The account must be locked.
 */
export async function checkKeyHasNoLimit(tx: Transaction, { accountId, apiKeyId }: Actor): Promise<void> {
  const [own] = await tx.rows(sql`
    SELECT id FROM spend_limits WHERE account_id = ${accountId} AND api_key_id = ${apiKeyId} LIMIT 1`)
  if (!own) return
  const message =
    'This API key has a spend limit, so it cannot set limits, create keys or reset other keys. Use a key without a limit.'
  throw new DomainError('FORBIDDEN', message, { missing: [] })
}

function limitEventFacts({ id, apiKeyId, window, amountNanos, action }: Omit<SpendLimit, 'createdAt' | 'reachedAt'>) {
  return { spendLimitId: id, apiKeyId, window, amountNanos: String(amountNanos), action }
}
