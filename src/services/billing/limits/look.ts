// How an account stands to its limits, and what is noted when one is reached. Whoever takes the account notes it.

import { Prisma } from '../../../database/generated/client.ts'
import { columnsOf, recordsOf, selectList } from '../../../database/rows.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { type Balance, standingOf } from '../../../domain/billing/billing.ts'
import { countedBy, reachIn, windowsOf } from '../../../domain/billing/limits.ts'
import type { SpendLimit, UsedLimit } from '../../../domain/billing/spend-limit.ts'
import { recordEvents } from '../../events/events.ts'
import { endAll } from '../ends.ts'
import { spendingIn, wishedRates } from '../spent.ts'

const { sql } = Prisma
const { accountId: _, ...readable } = Prisma.SpendLimitScalarFieldEnum
const limitColumns = columnsOf(readable)

type Database = Pick<Transaction, 'rows'>
type Account = Balance & { accountId: number }

/** A limit now, and when it is reached first after it was noted last, if everything goes on as it does. */
type Seen = { limit: SpendLimit; usedNanos: bigint; reachedAt: Date | null; lookAt: Date | null }

export async function findLimits(database: Database, accountId: number): Promise<SpendLimit[]> {
  const rows = await database.rows(sql`
    SELECT ${selectList('l', limitColumns)} FROM spend_limits l WHERE l.account_id = ${accountId} ORDER BY l.id`)
  return rows.map(row => recordsOf(row, limitColumns)[0] as SpendLimit)
}

async function lookAtLimits(database: Database, account: Account): Promise<Seen[]> {
  const limits = await findLimits(database, account.accountId)
  if (limits.length === 0) return []
  const asked = limits.flatMap(limit => windowsOf(limit, account).map(window => ({ limit, ...window })))
  const windows = asked.map(({ limit: { apiKeyId }, from }) => ({ apiKeyId, from }))
  const spendings = await spendingIn(database, account, windows, standingOf(account).endsAt)
  const rates = limits.some(({ window }) => window === 'hour') ? await wishedRates(database, account.accountId) : []
  return limits.map(limit => {
    if (limit.window === 'hour') return seenRate(limit, countedBy(limit, rates), account.at)
    const mine = asked.flatMap(({ limit: { id }, until }, place) =>
      id === limit.id ? [{ ...spendings[place], until }] : [],
    )
    return seenSpending(limit, mine as Parameters<typeof seenSpending>[1], account)
  })
}

function seenRate(limit: SpendLimit, usedNanos: bigint, at: Date): Seen {
  const isOver = usedNanos > limit.amountNanos
  return { limit, usedNanos, reachedAt: isOver && limit.reachedAt === null ? at : null, lookAt: null }
}

function seenSpending(
  limit: SpendLimit,
  windows: (Parameters<typeof reachIn>[1] & { until: Date })[],
  account: Account,
): Seen {
  const { spentNanos: usedNanos, rateNanos, until } = windows.at(-1) as (typeof windows)[number]
  const reaches = windows.flatMap(window => {
    if (limit.reachedAt !== null && limit.reachedAt >= window.from) return []
    const reach = reachIn(limit, window, account)
    return reach !== null && reach < window.until ? [reach] : []
  })
  return { limit, usedNanos, reachedAt: reaches[0] ?? null, lookAt: reaches[0] ?? (rateNanos > 0n ? until : null) }
}

/** The limits of an account as they are at the instant that its balance is of, whether it was noted yet or not. */
export async function usedLimits(database: Database, account: Account): Promise<UsedLimit[]> {
  return (await lookAtLimits(database, account)).map(({ limit, usedNanos, reachedAt }) => {
    const isKept = limit.window === 'hour' && usedNanos <= limit.amountNanos
    const isNew = reachedAt !== null && reachedAt <= account.at
    return { ...limit, usedNanos, reachedAt: isNew ? reachedAt : isKept ? null : limit.reachedAt }
  })
}

/** When a limit is reached next, or may be counted anew; null where nothing can happen until something is changed. */
export async function limitsDueAt(database: Database, account: Account): Promise<Date | null> {
  const instants = (await lookAtLimits(database, account)).flatMap(({ lookAt }) => (lookAt ? [lookAt.getTime()] : []))
  return instants.length === 0 ? null : new Date(Math.min(...instants))
}

/**
 * Notes the limit that was reached first since it was looked, and tells of it. Where it stops what it counts, the GPUs
 * are charged up to then, whatever is done to the account now. False where none was reached. The account must be locked.
 */
export async function noteLimit(tx: Transaction, account: Account): Promise<boolean> {
  const { accountId, at } = account
  const seen = await lookAtLimits(tx, account)
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
    await endAll(tx, { accountId, apiKeyId: limit.apiKeyId }, reachedAt, 'SPEND_LIMIT')
  const { id: spendLimitId, apiKeyId, window, amountNanos, action } = limit
  // Of a day or month it is the amount that is used then.
  const used = window === 'hour' ? { usedNanos: String(usedNanos) } : {}
  const after = { spendLimitId, apiKeyId, window, amountNanos: String(amountNanos), action, ...used, reachedAt }
  await recordEvents(tx, [{ type: 'ACCOUNT_SPEND_LIMIT', accountId, after }], at)
  return true
}
