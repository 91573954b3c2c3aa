// Usage of spend limits. Every transaction that locks an account records the limits that the account has reached.

import { Prisma } from '../../../database/generated/client.ts'
import { bool, enumeration, int4, int8, nullable, timestamptz } from '../../../database/row-types.ts'
import { columnsSql } from '../../../database/rows.ts'
import type { Statements } from '../../../database/statements.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { type Balance, creditStatusOf } from '../../../domain/billing/balance.ts'
import { predictReachedAt, sumCountedRates, windowsToCheck } from '../../../domain/billing/limits.ts'
import type {
  SpendAction,
  SpendLimit,
  SpendLimitWithUsage,
  SpendUsage,
  SpendWindow,
} from '../../../domain/billing/spend-limit.ts'
import { systemActor } from '../../../domain/events/actor.ts'
import { recordEvents } from '../../events/events.ts'
import { endSpenderGpus } from '../gpu-ends.ts'
import { loadDesiredRates, loadSpending } from '../spending.ts'

const { sql } = Prisma
const limitRow = {
  ...{ id: int4, apiKeyId: nullable(int4), window: enumeration<SpendWindow>(), amountNanos: int8 },
  ...{ action: enumeration<SpendAction>(), cap: bool, createdAt: timestamptz, updatedAt: timestamptz },
  reachedAt: nullable(timestamptz),
}

type Database = Pick<Statements, 'query'>
type Account = Balance & { accountId: number }

/**
 * `reachedAt`: when the limit is reached next if nothing changes; null if the limit will not be reached, or if the
 * reached limit is already recorded. `checkAt`: when the limit must be checked again.
 */
type LimitUsage<Limit = SpendLimit> = { limit: Limit; usedNanos: bigint; reachedAt: Date | null; checkAt: Date | null }

export async function findLimits(database: Database, accountId: number): Promise<SpendLimit[]> {
  const statement = sql`
    SELECT ${columnsSql('l', limitRow)} FROM spend_limits l WHERE l.account_id = ${accountId} ORDER BY l.id`
  return await database.query(statement, limitRow)
}

async function readLimitUsage<Limit extends SpendLimit>(
  database: Database,
  account: Account,
  limits: readonly Limit[],
): Promise<LimitUsage<Limit>[]> {
  if (limits.length === 0) return []
  const windows = limits.flatMap(limit =>
    windowsToCheck(limit, account).map(window => ({ limitId: limit.id, apiKeyId: limit.apiKeyId, ...window })),
  )
  const spendings = await loadSpending(database, account, windows, creditStatusOf(account).endsAt)
  const rates = limits.some(({ window }) => window === 'hour')
    ? await loadDesiredRates(database, account.accountId)
    : []
  return limits.map(limit => {
    if (limit.window === 'hour') return rateUsage(limit, sumCountedRates(limit, rates), account.at)
    const ownWindows = spendings.filter(({ limitId }) => limitId === limit.id)
    return spendingUsage(limit, ownWindows, account)
  })
}

function rateUsage<Limit extends SpendLimit>(limit: Limit, usedNanos: bigint, at: Date): LimitUsage<Limit> {
  const isOver = usedNanos > limit.amountNanos
  return { limit, usedNanos, reachedAt: isOver && limit.reachedAt === null ? at : null, checkAt: null }
}

function spendingUsage<Limit extends SpendLimit>(
  limit: Limit,
  windows: (Parameters<typeof predictReachedAt>[1] & { until: Date })[],
  account: Account,
): LimitUsage<Limit> {
  // The cast is safe: a limit per day or month has at least the current window.
  const { spentNanos: usedNanos, rateNanos, until } = windows.at(-1) as (typeof windows)[number]
  const reaches = windows.flatMap(window => {
    if (limit.reachedAt !== null && limit.reachedAt >= window.from) return []
    const reach = predictReachedAt(limit, window, account)
    return reach !== null && reach < window.until ? [reach] : []
  })
  return { limit, usedNanos, reachedAt: reaches[0] ?? null, checkAt: reaches[0] ?? (rateNanos > 0n ? until : null) }
}

/** The limits of an account at the instant of its balance, with their usage. */
export async function readLimitsWithUsage(database: Database, account: Account): Promise<SpendLimitWithUsage[]> {
  const usages = await readUsageOf(database, account, await findLimits(database, account.accountId))
  return [...usages].map(([limit, usage]) => ({ ...limit, ...usage }))
}

/**
 * The usage of limits of an account at the instant of its balance. A reached limit has `reachedAt` even before a
 * transaction records it.
 */
export async function readUsageOf<Limit extends SpendLimit>(
  database: Database,
  account: Account,
  limits: readonly Limit[],
): Promise<Map<Limit, SpendUsage>> {
  const usages = await readLimitUsage(database, account, limits)
  return new Map(
    usages.map(({ limit, usedNanos, reachedAt }) => {
      const isKept = limit.window === 'hour' && usedNanos <= limit.amountNanos
      const isNew = reachedAt !== null && reachedAt <= account.at
      return [limit, { usedNanos, reachedAt: isNew ? reachedAt : isKept ? null : limit.reachedAt }]
    }),
  )
}

/** When the next limit is reached or its window starts again; null if neither can happen without a change. */
export async function findNextLimitCheck(database: Database, account: Account): Promise<Date | null> {
  const limits = await findLimits(database, account.accountId)
  const instants = (await readLimitUsage(database, account, limits)).flatMap(({ checkAt }) =>
    checkAt ? [checkAt.getTime()] : [],
  )
  return instants.length === 0 ? null : new Date(Math.min(...instants))
}

/**
 * Records the limit that was reached first since the last check, with an event. A `stop_running` limit also ends the
 * GPU charges at that instant, whatever the caller does next. Returns false if no limit was reached. The account must
 * be locked.
 */
export async function recordReachedLimit(tx: Transaction, account: Account): Promise<boolean> {
  const { accountId, at } = account
  const usages = await readLimitUsage(tx, account, await findLimits(tx, accountId))
  const kept = usages.filter(({ limit, usedNanos }) => limit.window === 'hour' && usedNanos <= limit.amountNanos)
  const past = kept.filter(({ limit }) => limit.reachedAt !== null).map(({ limit }) => limit.id)
  if (past.length > 0) await tx.execute(sql`UPDATE spend_limits SET reached_at = NULL WHERE id = ANY(${past}::int[])`)
  const [first] = usages
    .flatMap(({ reachedAt, ...one }) => (reachedAt !== null && reachedAt <= at ? [{ ...one, reachedAt }] : []))
    .toSorted((one, other) => one.reachedAt.getTime() - other.reachedAt.getTime())
  if (!first) return false
  const { limit, usedNanos, reachedAt } = first
  await tx.execute(sql`UPDATE spend_limits SET reached_at = ${reachedAt} WHERE id = ${limit.id}`)
  if (limit.action === 'stop_running')
    await endSpenderGpus(tx, { accountId, apiKeyId: limit.apiKeyId }, reachedAt, 'SPEND_LIMIT')
  const { id: spendLimitId, apiKeyId, window, amountNanos, action } = limit
  // A day or month limit is reached when its whole amount is used, so the event does not repeat the usage.
  const used = window === 'hour' ? { usedNanos: String(usedNanos) } : {}
  const after = { spendLimitId, apiKeyId, window, amountNanos: String(amountNanos), action, ...used, reachedAt }
  await recordEvents(tx, [{ kind: 'ACCOUNT_SPEND_LIMIT', accountId, actor: systemActor, after }], at)
  return true
}
