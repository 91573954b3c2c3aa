import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { checkLimitAmount, limitExists } from '../../../domain/billing/limits.ts'
import type { SpendAction, SpendLimit, SpendLimitWithUsage, SpendWindow } from '../../../domain/billing/spend-limit.ts'
import { DomainError, itemGone, notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { runAndRead } from '../../idempotency.ts'
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
type WithIdempotencyKey = { idempotencyKey?: string | null | undefined }
/** An absent part stays as it is. */
type SpendLimitChange = { amountNanos?: bigint | undefined; action?: SpendAction | undefined }

export function limitServices(deps: Pick<Deps, 'database' | 'secrets'>) {
  const { database } = deps

  return {
    /** The current limits of the account and of its keys, oldest first. */
    async spendLimits(actor: Actor): Promise<SpendLimitWithUsage[]> {
      authorize(actor, 'billing.spendLimits')
      return await readLimitsWithUsage(database, await readBalance(database, actor.accountId))
    },

    /**
     * Creates a limit. The account and each of its keys have at most one limit per window. A revoked key can have
     * limits, too: its instances may still run. Earlier spending in the window counts against the new limit.
     */
    async createSpendLimit(
      actor: Actor,
      { idempotencyKey, ...input }: SpendLimitInput & WithIdempotencyKey,
    ): Promise<{ spendLimit: SpendLimitWithUsage; replayed: boolean }> {
      authorize(actor, 'billing.setSpendLimit')
      checkLimitAmount(input.amountNanos)
      const request = { operation: 'billing.setSpendLimit' as const, input, idempotencyKey }
      const { answer, replayed } = await runAndRead(deps, actor, request, {
        checkPermission: async tx => {
          await lockForChange(tx, actor)
        },
        work: async tx => ({ id: await createInTransaction(tx, actor, input) }),
        read: (tx, { id }) => readLimit(tx, actor, id),
      })
      return { spendLimit: answer, replayed }
    },

    /** Changes the amount or the action of a limit. Earlier spending in the window counts against the new amount. */
    async updateSpendLimit(actor: Actor, id: bigint, change: SpendLimitChange): Promise<SpendLimitWithUsage> {
      authorize(actor, 'billing.setSpendLimit')
      if (change.amountNanos !== undefined) checkLimitAmount(change.amountNanos)
      return await transaction(database, tx => updateInTransaction(tx, actor, id, change))
    },

    async deleteSpendLimit(actor: Actor, id: bigint): Promise<void> {
      authorize(actor, 'billing.deleteSpendLimit', { id: Number(id) })
      await transaction(database, tx => deleteInTransaction(tx, actor, id))
    },
  }
}

/** Returns the instant of the change. */
async function lockForChange(tx: Transaction, actor: Actor): Promise<Date> {
  // `lockAccount` records a limit that was already reached before this change.
  const { at } = await lockAccount(tx, actor.accountId, tx.at)
  await checkKeyHasNoLimit(tx, actor)
  return at
}

/** The account is locked. */
async function createInTransaction(tx: Transaction, actor: Actor, input: SpendLimitInput): Promise<number> {
  const { window, amountNanos, action } = input
  const { accountId } = actor
  const apiKeyId = input.apiKeyId === null ? null : await findKeyId(tx, accountId, input.apiKeyId)
  if (apiKeyId === actor.apiKeyId)
    throw new DomainError('FORBIDDEN', 'An API key cannot set a limit for itself. Use another key.', { missing: [] })
  const limits = await findLimits(tx, accountId)
  const existing = limits.find(limit => limit.window === window && limit.apiKeyId === apiKeyId)
  if (existing) throw limitExists(existing)
  const { at } = await readBalance(tx, accountId, tx.at)
  const [row] = await tx.rows(sql`
    INSERT INTO spend_limits (account_id, api_key_id, "window", amount_nanos, action, created_at, updated_at)
    VALUES (${accountId}, ${apiKeyId}, ${window}::spend_window, ${amountNanos}, ${action}::spend_action, ${at}, ${at})
    RETURNING id`)
  const id = row?.[0] as number
  const event = { ...limitEvent(actor), kind: 'SPEND_LIMIT_CREATED' as const }
  await recordEvents(tx, [{ ...event, after: limitEventFacts({ id, apiKeyId, window, amountNanos, action }) }], at)
  return id
}

async function updateInTransaction(
  tx: Transaction,
  actor: Actor,
  id: bigint,
  change: SpendLimitChange,
): Promise<SpendLimitWithUsage> {
  const at = await lockForChange(tx, actor)
  const before = await findLimit(tx, actor, id)
  const { amountNanos = before.amountNanos, action = before.action } = change
  if (amountNanos === before.amountNanos && action === before.action) return await readLimit(tx, actor, before.id)
  await tx.rows(sql`
    UPDATE spend_limits SET amount_nanos = ${amountNanos}, action = ${action}::spend_action, updated_at = ${at},
      reached_at = NULL WHERE id = ${before.id}`)
  const after = await readLimit(tx, actor, before.id)
  const event = { ...limitEvent(actor), kind: 'SPEND_LIMIT_UPDATED' as const }
  await recordEvents(tx, [{ ...event, before: limitEventFacts(before), after: limitEventFacts(after) }], at)
  return after
}

async function deleteInTransaction(tx: Transaction, actor: Actor, id: bigint): Promise<void> {
  const at = await lockForChange(tx, actor)
  const limit = await findLimit(tx, actor, id)
  await tx.rows(sql`DELETE FROM spend_limits WHERE id = ${limit.id}`)
  const event = { ...limitEvent(actor), kind: 'SPEND_LIMIT_DELETED' as const }
  await recordEvents(tx, [{ ...event, before: limitEventFacts(limit) }], at)
}

async function findLimit(tx: Transaction, { accountId }: Actor, id: bigint): Promise<SpendLimit> {
  const limit = (await findLimits(tx, accountId)).find(one => BigInt(one.id) === id)
  if (!limit) throw notFound('SpendLimit', id)
  return limit
}

/** A limit with its usage in this transaction. Only a repeated request can ask for a limit that is gone. */
async function readLimit(tx: Transaction, { accountId }: Actor, id: number): Promise<SpendLimitWithUsage> {
  const limits = await readLimitsWithUsage(tx, await readBalance(tx, accountId, tx.at))
  const limit = limits.find(one => one.id === id)
  if (!limit) throw itemGone('SpendLimit', id)
  return limit
}

function limitEvent({ accountId, apiKeyId }: Actor) {
  return { accountId, actor: apiKeyActor({ apiKeyId }), reason: 'USER_REQUEST' as const }
}

async function findKeyId(tx: Transaction, accountId: number, id: bigint): Promise<number> {
  const [row] = await tx.rows(
    sql`SELECT id FROM api_keys WHERE id = ${String(id)}::bigint AND account_id = ${accountId}`,
  )
  if (!row) throw notFound('ApiKey', id)
  return row[0] as number
}

/**
 * A key with a limit cannot get around that limit: it cannot change limits or create keys, and changes no key but itself.
 * The account must be locked.
 */
export async function checkKeyHasNoLimit(
  tx: Transaction,
  { accountId, apiKeyId }: Actor,
  refused = 'change limits, create keys or give other keys new secrets',
): Promise<void> {
  const [own] = await tx.rows(sql`
    SELECT id FROM spend_limits WHERE account_id = ${accountId} AND api_key_id = ${apiKeyId} LIMIT 1`)
  if (!own) return
  const message = `This API key has a spend limit, so it cannot ${refused}. Use a key without a limit.`
  throw new DomainError('FORBIDDEN', message, { missing: [] })
}

type LimitFacts = Pick<SpendLimit, 'id' | 'apiKeyId' | 'window' | 'amountNanos' | 'action'>

function limitEventFacts({ id, apiKeyId, window, amountNanos, action }: LimitFacts) {
  return { spendLimitId: id, apiKeyId, window, amountNanos: String(amountNanos), action }
}
