// How an account stands to its limits, and what is noted when one is reached. Whoever takes the account notes it.

import { Prisma } from '../../../database/generated/client.ts'
import { columnsOf, recordsOf, selectListSql } from '../../../database/rows.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { type Balance, creditStatusOf } from '../../../domain/billing/balance.ts'
import { predictReachedAt, sumCountedRates, windowsToCheck } from '../../../domain/billing/limits.ts'
import type { SpendLimit, SpendLimitWithUsage } from '../../../domain/billing/spend-limit.ts'
import { recordEvents } from '../../events/events.ts'
import { endSpenderCompute } from '../compute-ends.ts'
import { loadDesiredRates, loadSpending } from '../spending.ts'

const { sql } = Prisma
const { accountId: _, ...readableFields } = Prisma.SpendLimitScalarFieldEnum
const limitColumns = columnsOf(readableFields)

type Database = Pick<Transaction, 'rows'>
type Account = Balance & { accountId: number }

/** A limit now, and when it is reached first after it was noted last, if everything goes on as it does. */
type LimitUsage = { limit: SpendLimit; usedNanos: bigint; reachedAt: Date | null; checkAt: Date | null }

export async function findLimits(database: Database, accountId: number): Promise<SpendLimit[]> {
  const rows = await database.rows(sql`
    SELECT ${selectListSql('l', limitColumns)} FROM spend_limits l WHERE l.account_id = ${accountId} ORDER BY l.id`)
  return rows.map(row => recordsOf(row, limitColumns)[0] as SpendLimit)
}

async function readLimitUsage(database: Database, account: Account): Promise<LimitUsage[]> {
  const limits = await findLimits(database, account.accountId)
  if (limits.length === 0) return []
  const asked = limits.flatMap(limit => windowsToCheck(limit, account).map(window => ({ limit, ...window })))
  const windows = asked.map(({ limit: { apiKeyId }, from }) => ({ apiKeyId, from }))
  const spendings = await loadSpending(database, account, windows, creditStatusOf(account).endsAt)
  const rates = limits.some(({ window }) => window === 'hour')
    ? await loadDesiredRates(database, account.accountId)
    : []
  return limits.map(limit => {
    if (limit.window === 'hour') return rateUsage(limit, sumCountedRates(limit, rates), account.at)
    const mine = asked.flatMap(({ limit: { id }, until }, place) =>
      id === limit.id ? [{ ...spendings[place], until }] : [],
    )
    return spendingUsage(limit, mine as Parameters<typeof spendingUsage>[1], account)
  })
}

function rateUsage(limit: SpendLimit, usedNanos: bigint, at: Date): LimitUsage {
  const isOver = usedNanos > limit.amountNanos
  return { limit, usedNanos, reachedAt: isOver && limit.reachedAt === null ? at : null, checkAt: null }
}

function spendingUsage(
  limit: SpendLimit,
  windows: (Parameters<typeof predictReachedAt>[1] & { until: Date })[],
  account: Account,
): LimitUsage {
  const { spentNanos: usedNanos, rateNanos, until } = windows.at(-1) as (typeof windows)[number]
  const reaches = windows.flatMap(window => {
    if (limit.reachedAt !== null && limit.reachedAt >= window.from) return []
    const reach = predictReachedAt(limit, window, account)
    return reach !== null && reach < window.until ? [reach] : []
  })
  return { limit, usedNanos, reachedAt: reaches[0] ?? null, checkAt: reaches[0] ?? (rateNanos > 0n ? until : null) }
}

/** The limits of an account as they are at the instant that its balance is of, whether it was noted yet or not. */
export async function readLimitsWithUsage(database: Database, account: Account): Promise<SpendLimitWithUsage[]> {
  return (await readLimitUsage(database, account)).map(({ limit, usedNanos, reachedAt }) => {
    const isKept = limit.window === 'hour' && usedNanos <= limit.amountNanos
    const isNew = reachedAt !== null && reachedAt <= account.at
    return { ...limit, usedNanos, reachedAt: isNew ? reachedAt : isKept ? null : limit.reachedAt }
  })
}

/** When a limit is reached next, or may be counted anew; null where nothing can happen until something is changed. */
export async function findNextLimitCheck(database: Database, account: Account): Promise<Date | null> {
  const instants = (await readLimitUsage(database, account)).flatMap(({ checkAt }) =>
    checkAt ? [checkAt.getTime()] : [],
  )
  return instants.length === 0 ? null : new Date(Math.min(...instants))
}

/**
 * Notes the limit that was reached first since it was looked, and tells of it. Where it stops what it counts, the GPUs
 * are charged up to then, whatever is done to the account now. False where none was reached. The account must be locked.
 */
export async function recordReachedLimit(tx: Transaction, account: Account): Promise<boolean> {
  const { accountId, at } = account
  const seen = await readLimitUsage(tx, account)
  const kept = seen.filter(({ limit, usedNanos }) => limit.window === 'hour' && usedNanos <= limit.amountNanos)
  const past = kept.filter(({ limit }) => limit.reachedAt !== null).map(({ limit }) => limit.id)
  if (past.length > 0) await tx.rows(sql`UPDATE spend_limits SET reached_at = NULL WHERE id = ANY(${past}::int[])`)
  const [first] = seen
    .flatMap(({ reachedAt, ...one }) => (reachedAt !== null && reachedAt <= at ? [{ ...one, reachedAt }] : []))
    .toSorted((one, other) => one.reachedAt.getTime() - other.reachedAt.getTime())
  if (!first) return false
  const { limit, usedNanos, reachedAt } = first
  await tx.rows(sql`UPDATE spend_limits SET reached_at = ${reachedAt} WHERE id = ${limit.id}`)
  if (limit.action === 'stop_running')
    await endSpenderCompute(tx, { accountId, apiKeyId: limit.apiKeyId }, reachedAt, 'SPEND_LIMIT')
  const { id: spendLimitId, apiKeyId, window, amountNanos, action } = limit
  // Of a day or month it is the amount that is used then.
  const used = window === 'hour' ? { usedNanos: String(usedNanos) } : {}
  const after = { spendLimitId, apiKeyId, window, amountNanos: String(amountNanos), action, ...used, reachedAt }
  await recordEvents(tx, [{ type: 'ACCOUNT_SPEND_LIMIT', accountId, after }], at)
  return true
}
