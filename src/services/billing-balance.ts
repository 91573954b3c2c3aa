// What an account has, and what takes of it. Whoever changes that takes the account first, after all machines and
// instances that the transaction takes, and no other account.

import { Prisma } from '../database/generated/client.ts'
import type { Transaction } from '../database/transaction.ts'
import { type Balance, standingOf } from '../domain/billing.ts'
import { noteLimit } from './billing-limits-look.ts'

const { sql } = Prisma

export type AccountBalance = Balance & {
  accountId: number
  /** When its credit ended, until everything that ran then was stopped for it. */
  creditEndedAt: Date | null
  /** Whether there are limits of what it spends. */
  isLimited: boolean
}

const balanceColumns = sql`metered_at, posted_nanos, compute_rate_nanos, compute_origin, disk_rate_nanos, disk_origin, credit_ended_at`

/** An account's money at an instant, as it was last committed. */
export async function readBalance(
  database: Pick<Transaction, 'rows'>,
  accountId: number,
  at: Date,
): Promise<AccountBalance> {
  return (await readBalances(database, [accountId], at))[0] as AccountBalance
}

/** The same of many accounts, in no order. */
export async function readBalances(
  database: Pick<Transaction, 'rows'>,
  accountIds: readonly number[],
  at: Date,
): Promise<AccountBalance[]> {
  const rows = await database.rows(sql`
    SELECT a.id, ${balanceColumns}, ${endsUntil(at)}, EXISTS (SELECT FROM spend_limits l WHERE l.account_id = a.id)
    FROM accounts a WHERE a.id = ANY(${accountIds}::int[])`)
  return rows.map(([id, ...row]) => toBalance(row, id as number, at))
}

const endsUntil = (at: Date) => sql`(
  SELECT json_agg(json_build_array(m.rate_nanos::text, m.since, e.at)) FROM (
    SELECT meter_id, min(at) AS at FROM (
      SELECT meter_id, at FROM meter_ends WHERE account_id = a.id
      UNION ALL SELECT id, ends_at FROM meters WHERE account_id = a.id AND rate_nanos > 0 AND kind = 'compute'
      AND ends_at <= greatest(${at}::timestamptz, a.metered_at)
    ) all_ends GROUP BY meter_id
  ) e JOIN meters m ON m.id = e.meter_id WHERE m.rate_nanos > 0)`

function toBalance(row: unknown[], accountId: number, at: Date): AccountBalance {
  const [
    meteredAt,
    postedNanos,
    computeRateNanos,
    computeOrigin,
    diskRateNanos,
    diskOrigin,
    creditEndedAt,
    ends,
    isLimited,
  ] = row as [Date, bigint, bigint, string, bigint, string, Date | null, [string, string, string][] | null, boolean]
  return {
    accountId,
    at: at < meteredAt ? meteredAt : at,
    ...{ meteredAt, postedNanos, computeRateNanos, diskRateNanos, creditEndedAt, isLimited },
    computeOrigin: BigInt(computeOrigin),
    diskOrigin: BigInt(diskOrigin),
    ends: (ends ?? []).map(([rate, since, end]) => ({
      rateNanos: BigInt(rate),
      since: new Date(since),
      at: new Date(end),
    })),
  }
}

/**
 * Takes an account for the rest of the transaction. If its credit has ended meanwhile, or a limit that stops them was
 * reached, its GPUs are charged up to then, whatever is done to it now. It is due to be looked at, since something will have changed.
 */
export async function lockBalance(tx: Transaction, accountId: number, at: Date): Promise<AccountBalance> {
  await tx.rows(sql`UPDATE accounts SET billing_due_at = least(billing_due_at, ${at}) WHERE id = ${accountId}`)
  tx.announce()
  // Asked now, since what ended was written by others before it was taken.
  let balance = await readBalance(tx, accountId, at)
  while (balance.isLimited && (await noteLimit(tx, balance))) balance = await readBalance(tx, accountId, at)
  const { endsAt, isOver } = standingOf(balance)
  if (!isOver || balance.computeRateNanos === 0n) return balance
  const capped = await tx.rows(sql`
    INSERT INTO meter_ends (meter_id, account_id, at) SELECT id, account_id, ${endsAt}::timestamptz FROM meters m
    WHERE account_id = ${accountId} AND kind = 'compute' AND rate_nanos > 0
    AND NOT EXISTS (SELECT FROM meter_ends e WHERE e.meter_id = m.id AND e.at <= ${endsAt}) RETURNING id`)
  // All have ended already, and disks alone have used up what was left.
  if (capped.length === 0) return balance
  await tx.rows(sql`UPDATE accounts SET credit_ended_at = greatest(credit_ended_at, ${endsAt}) WHERE id = ${accountId}`)
  return await readBalance(tx, accountId, at)
}
