// Credit and running costs of accounts. A transaction that changes credit or costs first locks all machines and instances
// that it changes, then all accounts that it changes, at once, and no other account.

import { Prisma } from '../../database/generated/client.ts'
import { bool, int4, int8, json, nullable, numeric, type RowOf, timestamptz } from '../../database/row-types.ts'
import type { Statements } from '../../database/statements.ts'
import { type Read, readOf } from '../../database/together.ts'
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
  const { statement, shape } = balanceRead(accountIds, at === undefined ? database.nowSql : sql`${at}::timestamptz`)
  return (await database.query(statement, shape)).map(toBalance)
}

/** The rows that `toBalance` makes balances of. */
export function balanceRead(accountIds: readonly number[], instantSql: Prisma.Sql): Read<typeof balanceRow> {
  const statement = sql`
    SELECT a.id AS account_id, ${instantSql} AS read_at, ${balanceColumns}, ${meterEndsSql(instantSql)} AS ends,
      EXISTS (SELECT FROM spend_limits l WHERE l.account_id = a.id) AS is_limited
    FROM accounts a WHERE a.id = ANY(${accountIds}::int[])`
  return readOf(statement, balanceRow)
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

export function toBalance({ readAt, gpuOrigin, diskOrigin, ends, ...row }: RowOf<typeof balanceRow>): AccountBalance {
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

/** Locks one account, as `lockAccounts` does. */
export async function lockAccount(tx: Transaction, accountId: number, at: Date): Promise<AccountBalance> {
  return (await lockAccounts(tx, [accountId], at))[0] as AccountBalance
}

/**
 * Locks accounts for the rest of the transaction. If the credit of one has ended, or a `stop_running` limit was reached,
 * its GPU charges end when that happened, whatever the caller does next. The accounts also become due, since the caller is
 * about to change them. Takes the same number of statements for any number of accounts that have no such end and no limits.
 */
export async function lockAccounts(
  tx: Transaction,
  accountIds: readonly number[],
  at: Date,
): Promise<AccountBalance[]> {
  if (accountIds.length === 0) return []
  // An account that is due already is only locked. A later statement writes the account anyway, in most cases.
  const becameDue = await tx.execute(sql`
    WITH locked AS (
      SELECT id, billing_due_at FROM accounts WHERE id = ANY(${accountIds}::int[]) ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE accounts SET billing_due_at = ${at} FROM locked
    WHERE accounts.id = locked.id AND coalesce(locked.billing_due_at > ${at}, true)`)
  if (becameDue > 0) tx.notifyAfterCommit('billing')
  // Read the balances only under the locks: until then, other transactions may have recorded meter ends.
  const balances: AccountBalance[] = []
  for (const balance of await readBalances(tx, accountIds, at)) balances.push(await recordEnds(tx, balance, at))
  return balances
}

/** Locks those of the accounts that no other transaction has locked, and returns them. */
export async function lockFreeAccounts(tx: Transaction, ids: readonly number[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set()
  const statement = sql`SELECT id FROM accounts WHERE id = ANY(${ids}::int[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`
  return new Set((await tx.query(statement, { id: int4 })).map(({ id }) => id))
}

/** Records that the credit of a locked account has ended, or that limits were reached. Returns the balance afterwards. */
async function recordEnds(tx: Transaction, read: AccountBalance, at: Date): Promise<AccountBalance> {
  const { accountId } = read
  let balance = read
  while (balance.isLimited && (await recordReachedLimit(tx, balance))) balance = await readBalance(tx, accountId, at)
  const { endsAt, hasEnded } = creditStatusOf(balance)
  if (!hasEnded || endsAt === null) return balance
  const { ends } = await endSpenderGpus(tx, { accountId, apiKeyId: null }, endsAt, 'NO_CREDIT')
  // If no GPU charge is left to end, an earlier transaction recorded the end of the credit, or only disks still cost. Neither is a
  // new end.
  if (!ends) return balance
  await tx.execute(sql`UPDATE accounts SET credit_ended_at = ${endsAt} WHERE id = ${accountId}`)
  return await readBalance(tx, accountId, at)
}

/**
 * Locks accounts whose costs this transaction changes and makes them due, for `writeTogether`. An account that is due already
 * is not written.
 */
export function lockAccountWrites(accountIds: readonly number[], at: Date) {
  return {
    lockedAccounts: sql`
      SELECT id, billing_due_at, metered_at FROM accounts WHERE id = ANY(${accountIds}::int[]) ORDER BY id FOR NO KEY UPDATE`,
    accountDue: sql`
      UPDATE accounts SET billing_due_at = ${at} FROM locked_accounts l
      WHERE accounts.id = l.id AND coalesce(l.billing_due_at > ${at}, true) RETURNING 1`,
  }
}
