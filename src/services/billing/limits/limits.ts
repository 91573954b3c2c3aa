import type { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { capRefusal, checkLimitAmount, limitAmountIssues, limitExists } from '../../../domain/billing/limits.ts'
import type { SpendAction, SpendLimit, SpendWindow } from '../../../domain/billing/spend-limit.ts'
import { DomainError, type Issue, invalidInput, itemGone, joinIssues, notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize, authorizeAny } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { runAndRead } from '../../idempotency.ts'
import { asSelected, type ColumnSelect, type SelectedColumns } from '../../selected.ts'
import { smallIds } from '../../small-ids.ts'
import { lockAccount, readBalance } from '../balance.ts'
import { findLimits, readUsageOf } from './usage.ts'

export type SpendLimitSelect = ColumnSelect<'SpendLimit', 'id'>
export type SelectedSpendLimit<Select> = SelectedColumns<'SpendLimit', 'id', Select>

/** The columns that the usage of a limit depends on. */
export const usageSelect = {
  id: true,
  apiKeyId: true,
  window: true,
  amountNanos: true,
  action: true,
  cap: true,
  createdAt: true,
  updatedAt: true,
  reachedAt: true,
} as const satisfies Record<keyof SpendLimit, true>

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
type CheckedLimitChange = SpendLimitChange & {
  /** Problems that the face has found. */
  parseIssues?: Issue[]
}

export function limitServices(deps: Pick<Deps, 'database' | 'secrets'>) {
  const { database } = deps

  return {
    /** The current limits of the account and of its keys, oldest first. */
    async spendLimits<Select extends SpendLimitSelect>(actor: Actor, select: Select) {
      authorize(actor, 'billing.spendLimits')
      return await findSpendLimits(database.prisma, actor, {}, select)
    },

    async spendLimitsByIds<Select extends SpendLimitSelect>(actor: Actor, ids: readonly number[], select: Select) {
      authorize(actor, 'billing.spendLimits')
      return await findSpendLimits(database.prisma, actor, { id: { in: [...ids] } }, select)
    },

    /** The usage of limits that the actor has read or written. */
    async limitUsage<Limit extends SpendLimit>(actor: Actor, limits: readonly Limit[]) {
      authorizeAny(actor, ['billing.spendLimits', 'billing.setSpendLimit'])
      return await readUsageOf(database, await readBalance(database, actor.accountId), limits)
    },

    /**
     * Creates a limit. The account and each of its keys have at most one limit per window. A revoked key can have
     * limits, too: its instances may still run. Earlier spending in the window counts against the new limit.
     */
    async createSpendLimit<Select extends SpendLimitSelect>(
      actor: Actor,
      { idempotencyKey, ...input }: SpendLimitInput & WithIdempotencyKey,
      select: Select,
    ): Promise<{ spendLimit: SelectedSpendLimit<Select>; replayed: boolean }> {
      authorize(actor, 'billing.setSpendLimit')
      checkLimitAmount(input.amountNanos)
      const request = { operation: 'billing.setSpendLimit' as const, input, idempotencyKey }
      const { answer, replayed } = await runAndRead(deps, actor, request, {
        checkPermission: async tx => {
          await lockForChange(tx, actor)
        },
        work: async tx => ({ id: await createInTransaction(tx, actor, input) }),
        read: (tx, { id }) => readLimit(tx, actor, id, select),
      })
      return { spendLimit: answer, replayed }
    },

    /** Changes the amount or the action of a limit. Earlier spending in the window counts against the new amount. */
    async updateSpendLimit<Select extends SpendLimitSelect>(
      actor: Actor,
      id: bigint,
      { parseIssues, ...change }: CheckedLimitChange,
      select: Select,
    ): Promise<SelectedSpendLimit<Select>> {
      authorize(actor, 'billing.setSpendLimit')
      const amountIssues = change.amountNanos === undefined ? [] : limitAmountIssues(change.amountNanos)
      const issues = joinIssues(parseIssues, amountIssues)
      if (issues.length > 0) throw invalidInput(issues)
      return await transaction(database, async tx => {
        return await readLimit(tx, actor, await updateInTransaction(tx, actor, id, change), select)
      })
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
  const existing = limits.find(limit => !limit.cap && limit.window === window && limit.apiKeyId === apiKeyId)
  if (existing) throw limitExists(existing)
  const { at } = await readBalance(tx, accountId, tx.at)
  const data = { accountId, apiKeyId, window, amountNanos, action, createdAt: at, updatedAt: at }
  const { id } = await tx.prisma(prisma => prisma.spendLimit.create({ data, select: { id: true } }))
  const event = { ...limitEvent(actor), kind: 'SPEND_LIMIT_CREATED' as const }
  await recordEvents(tx, [{ ...event, after: limitEventFacts({ id, apiKeyId, window, amountNanos, action }) }], at)
  return id
}

async function updateInTransaction(
  tx: Transaction,
  actor: Actor,
  id: bigint,
  change: SpendLimitChange,
): Promise<number> {
  const at = await lockForChange(tx, actor)
  const before = await findOwnLimit(tx, actor, id)
  const { amountNanos = before.amountNanos, action = before.action } = change
  if (amountNanos === before.amountNanos && action === before.action) return before.id
  const data = { amountNanos, action, updatedAt: at, reachedAt: null }
  await tx.prisma(prisma => prisma.spendLimit.update({ where: { id: before.id }, data, select: { id: true } }))
  const after = { ...before, amountNanos, action }
  const event = { ...limitEvent(actor), kind: 'SPEND_LIMIT_UPDATED' as const }
  await recordEvents(tx, [{ ...event, before: limitEventFacts(before), after: limitEventFacts(after) }], at)
  return before.id
}

async function deleteInTransaction(tx: Transaction, actor: Actor, id: bigint): Promise<void> {
  const at = await lockForChange(tx, actor)
  const limit = await findOwnLimit(tx, actor, id)
  await tx.prisma(prisma => prisma.spendLimit.delete({ where: { id: limit.id }, select: { id: true } }))
  const event = { ...limitEvent(actor), kind: 'SPEND_LIMIT_DELETED' as const }
  await recordEvents(tx, [{ ...event, before: limitEventFacts(limit) }], at)
}

/** A limit that the account may change. */
async function findOwnLimit(tx: Transaction, { accountId }: Actor, id: bigint): Promise<SpendLimit> {
  const limit = (await findLimits(tx, accountId)).find(one => BigInt(one.id) === id)
  if (!limit) throw notFound('SpendLimit', id)
  if (limit.cap) throw capRefusal()
  return limit
}

/** The account's limits that meet a condition, oldest first. Internal: does not authorize; callers must have. */
async function findSpendLimits<Select extends SpendLimitSelect>(
  prisma: Prisma.TransactionClient,
  { accountId }: Actor,
  where: Prisma.SpendLimitWhereInput,
  select: Select,
): Promise<SelectedSpendLimit<Select>[]> {
  return asSelected(
    await prisma.spendLimit.findMany({ where: { ...where, accountId }, select, orderBy: { id: 'asc' } }),
  )
}

/** Only a repeated request can ask for a limit that is gone. */
async function readLimit<Select extends SpendLimitSelect>(tx: Transaction, actor: Actor, id: number, select: Select) {
  const [limit] = await tx.prisma(prisma => findSpendLimits(prisma, actor, { id }, select))
  if (!limit) throw itemGone('SpendLimit', id)
  return limit
}

function limitEvent({ accountId, apiKeyId }: Actor) {
  return { accountId, actor: apiKeyActor({ apiKeyId }), reason: 'USER_REQUEST' as const }
}

async function findKeyId(tx: Transaction, accountId: number, id: bigint): Promise<number> {
  const where = { accountId, id: { in: smallIds([id]) } }
  const key = await tx.prisma(prisma => prisma.apiKey.findFirst({ where, select: { id: true } }))
  if (!key) throw notFound('ApiKey', id)
  return key.id
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
  const own = { accountId, apiKeyId }
  if ((await tx.prisma(prisma => prisma.spendLimit.findFirst({ where: own, select: { id: true } }))) === null) return
  const message = `This API key has a spend limit, so it cannot ${refused}. Use a key without a limit.`
  throw new DomainError('FORBIDDEN', message, { missing: [] })
}

type LimitFacts = Pick<SpendLimit, 'id' | 'apiKeyId' | 'window' | 'amountNanos' | 'action'>

export function limitEventFacts({ id, apiKeyId, window, amountNanos, action }: LimitFacts) {
  return { spendLimitId: id, apiKeyId, window, amountNanos: String(amountNanos), action }
}
