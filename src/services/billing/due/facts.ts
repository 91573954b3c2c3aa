// Loads the facts that decide which billing actions are due for an account.

import { Prisma } from '../../../database/generated/client.ts'
import { bool, int4, int8, nullable, type RowOf, textOf, timestamptz } from '../../../database/row-types.ts'
import type { Statements } from '../../../database/statements.ts'
import { type Read, readOf } from '../../../database/together.ts'
import { creditStatusOf } from '../../../domain/billing/balance.ts'
import type { AccountFacts } from '../../../domain/billing/due.ts'
import type { TargetReason } from '../../../domain/instances/instances.ts'
import type { AccountBalance } from '../balance.ts'
import { fromMarkedToStopSql } from '../gpu-ends.ts'

const { sql } = Prisma

export async function loadAccountFacts(
  database: Pick<Statements, 'query'>,
  account: AccountBalance,
): Promise<AccountFacts> {
  const { accountId, at } = account
  const { hasEnded, costPerHourNanos } = creditStatusOf(account)
  const { statement, shape } = factsRead([accountId], at, { isInDebt: hasEnded && costPerHourNanos > 0n })
  const [row] = await database.query(statement, shape)
  if (!row) throw new Error(`The account ${accountId} has no row.`)
  return toAccountFacts(row, account)
}

/** The rows that `toAccountFacts` makes facts of. Only accounts in debt need the queries for what a debt destroys. */
export function factsRead(
  accountIds: readonly number[],
  at: Date,
  { isInDebt }: { isInDebt: boolean },
): Read<typeof factsRow> {
  const statement = sql`
    SELECT a.id AS account_id, a.low_credit_hours, a.debt_since, a.debt_warned_at,
      EXISTS (SELECT ${fromMarkedToStopSql(sql`a.id`)}) AS has_instances_to_stop,
      EXISTS (SELECT FROM meter_ends e WHERE e.account_id = a.id AND e.at <= ${at}) AS has_ends,
      (SELECT min(m.since) FROM meters m WHERE m.account_id = a.id AND m.rate_nanos > 0) AS charged_until,
      ${isInDebt ? debtTargetsSql : noDebtTargetsSql}
    FROM accounts a WHERE a.id = ANY(${accountIds}::int[])`
  return readOf(statement, factsRow)
}

export function toAccountFacts(
  { hasInstances, hasVolumes, ...facts }: RowOf<typeof factsRow>,
  account: AccountBalance,
): AccountFacts {
  const { at, creditEndedAt } = account
  return {
    ...facts,
    at,
    creditEndedAt,
    creditStatus: creditStatusOf(account),
    debtTargets: { hasInstances, hasVolumes },
  }
}

// In the order of an index: without it, the planner may read all volumes until it finds one.
const debtTargetsSql = sql`
  EXISTS (SELECT FROM instances i WHERE i.account_id = a.id AND i.destroyed_at IS NULL) AS has_instances,
  (SELECT v.id FROM volumes v WHERE v.account_id = a.id AND v.deleted_at IS NULL ORDER BY v.id DESC LIMIT 1) IS NOT NULL
    AS has_volumes`
const noDebtTargetsSql = sql`false AS has_instances, false AS has_volumes`
const factsRow = {
  accountId: int4,
  ...{ lowCreditHours: nullable(int4), debtSince: nullable(timestamptz), debtWarnedAt: nullable(timestamptz) },
  ...{ hasInstancesToStop: bool, hasEnds: bool, chargedUntil: nullable(timestamptz) },
  ...{ hasInstances: bool, hasVolumes: bool },
}

/** Instances that are marked to stop, with the reason; only those in `among`, if given. */
export async function findInstancesToStop(
  database: Pick<Statements, 'query'>,
  accountId: number,
  limit: number,
  among?: readonly bigint[],
): Promise<{ id: bigint; reason: TargetReason }[]> {
  const named = among ? sql`i.id = ANY(${among.map(String)}::bigint[])` : sql`true`
  const statement = sql`
    SELECT i.id, m.stop_reason AS reason ${fromMarkedToStopSql(accountId)} AND ${named}
    ORDER BY i.id LIMIT ${limit}`
  return await database.query(statement, { id: int8, reason: textOf<TargetReason>() })
}

export async function findInstanceIds(
  database: Pick<Statements, 'query'>,
  condition: Prisma.Sql,
  limit: number,
): Promise<bigint[]> {
  const statement = sql`SELECT i.id FROM instances i WHERE ${condition} ORDER BY i.id LIMIT ${limit}`
  return (await database.query(statement, { id: int8 })).map(({ id }) => id)
}

/** A volume of the account, with its machine. */
export async function findVolume(
  database: Pick<Statements, 'query'>,
  accountId: number,
): Promise<{ id: bigint; machineId: number } | undefined> {
  const statement = sql`
    SELECT v.id, v.machine_id FROM volumes v
    WHERE v.account_id = ${accountId} AND v.deleted_at IS NULL ORDER BY v.id LIMIT 1`
  const [volume] = await database.query(statement, { id: int8, machineId: int4 })
  return volume
}
