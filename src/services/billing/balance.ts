// An account's credit and running costs. A transaction that changes credit or costs first locks all machines and
// instances that it changes, then this account, and no other account.

import { Prisma } from '../../database/generated/client.ts'
import { bool, int4, int8, json, nullable, numeric, type RowOf, timestamptz } from '../../database/row-types.ts'
import type { Statements } from '../../database/statements.ts'
import type { Transaction } from '../../database/transaction.ts'
import { type Balance, type ChargeKind, creditStatusOf } from '../../domain/billing/balance.ts'
import { endSpenderGpus } from './gpu-ends.ts'
import { recordReachedLimit } from './limits/usage.ts'

const { sql } = Prisma

export type AccountBalance = Balance & {
  accountId: number
  /** When the credit ended, until the account is notified; null before and afterwards. */
  creditEndedAt: Date | null
  /** Whether the account has spend limits. */
  isLimited: boolean
}

const balanceColumns = sql`metered_at, posted_nanos, gpu_rate_nanos, gpu_origin, disk_rate_nanos, disk_origin, credit_ended_at`

type BalanceReader = Pick<Statements, 'query'> & Pick<Transaction, 'nowSql'>

/** The balance of an account as last committed, at an instant or, by default, now. */
export async function readBalance(database: BalanceReader, accountId: number, at?: Date): Promise<AccountBalance> {
  return (await readBalances(database, [accountId], at))[0] as AccountBalance
}

/** The balances of several accounts, in no order. */
export async function readBalances(
  database: BalanceReader,
  accountIds: readonly number[],
  at?: Date,
): Promise<AccountBalance[]> {
  const instant = at === undefined ? database.nowSql : sql`${at}::timestamptz`
  const statement = sql`
    SELECT a.id AS account_id, ${instant} AS read_at, ${balanceColumns}, ${meterEndsSql(instant)} AS ends,
      EXISTS (SELECT FROM spend_limits l WHERE l.account_id = a.id) AS is_limited
    FROM accounts a WHERE a.id = ANY(${accountIds}::int[])`
  return (await database.query(statement, balanceRow)).map(toBalance)
}

/**
 * When running meters end: at their first recorded end, or at their planned end if that has passed. With LIMIT, each meter is
 * looked up by its id: as a plain join, all running meters of all accounts may be read.
 */
const meterEndsSql = (instant: Prisma.Sql) => sql`(
  SELECT json_agg(json_build_array(m.kind, m.rate_nanos::text, m.since, m.carried, e.at)) FROM (
    SELECT meter_id, min(at) AS at FROM (
      SELECT meter_id, at FROM meter_ends WHERE account_id = a.id
      UNION ALL SELECT id, ends_at FROM meters WHERE account_id = a.id AND rate_nanos > 0
      AND ends_at <= greatest(${instant}, a.metered_at)
    ) all_ends GROUP BY meter_id
  ) e CROSS JOIN LATERAL (SELECT * FROM meters WHERE id = e.meter_id AND rate_nanos > 0 LIMIT 1) m)`

type MeterEndRow = [kind: ChargeKind, rate: string, since: string, carried: number, end: string]

const balanceRow = {
  ...{ accountId: int4, readAt: timestamptz, meteredAt: timestamptz, postedNanos: int8, gpuRateNanos: int8 },
  ...{ gpuOrigin: numeric, diskRateNanos: int8, diskOrigin: numeric, creditEndedAt: nullable(timestamptz) },
  ...{ ends: nullable(json<MeterEndRow[]>()), isLimited: bool },
}

function toBalance({ readAt, gpuOrigin, diskOrigin, ends, ...row }: RowOf<typeof balanceRow>): AccountBalance {
  return {
    ...row,
    at: readAt < row.meteredAt ? row.meteredAt : readAt,
    gpuOrigin: BigInt(gpuOrigin),
    diskOrigin: BigInt(diskOrigin),
    ends: (ends ?? []).map(([kind, rate, since, carried, end]) => ({
      kind,
      carried,
      rateNanos: BigInt(rate),
      since: new Date(since),
      at: new Date(end),
    })),
  }
}

/**
 * Locks an account for the rest of the transaction. If its credit has ended, or a `stop_running` limit was reached,
 * its GPU charges end when that happened, whatever the caller does next. The account also becomes due, since the
 * caller is about to change the account.
 */
export async function lockAccount(tx: Transaction, accountId: number, at: Date): Promise<AccountBalance> {
  await tx.execute(sql`UPDATE accounts SET billing_due_at = least(billing_due_at, ${at}) WHERE id = ${accountId}`)
  tx.notifyAfterCommit()
  // Read the balance only under the lock: until then, other transactions may have recorded meter ends.
  let balance = await readBalance(tx, accountId, at)
  while (balance.isLimited && (await recordReachedLimit(tx, balance))) balance = await readBalance(tx, accountId, at)
  const { endsAt, hasEnded } = creditStatusOf(balance)
  if (!hasEnded || endsAt === null) return balance
  // False if no GPU charge is left to end: an earlier transaction recorded the end of the credit, or only disks still cost.
  // Neither is a new end.
  if (!(await endSpenderGpus(tx, { accountId, apiKeyId: null }, endsAt, 'NO_CREDIT'))) return balance
  await tx.execute(sql`UPDATE accounts SET credit_ended_at = ${endsAt} WHERE id = ${accountId}`)
  return await readBalance(tx, accountId, at)
}
