// Loads the facts that decide which billing actions are due for an account.

import { Prisma } from '../../../database/generated/client.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { creditStatusOf } from '../../../domain/billing/balance.ts'
import type { AccountFacts } from '../../../domain/billing/due.ts'
import type { TargetReason } from '../../../domain/instances/instances.ts'
import type { AccountBalance } from '../balance.ts'
import { markedToStopSql } from '../gpu-ends.ts'

const { sql } = Prisma

export async function loadAccountFacts(
  database: Pick<Transaction, 'rows'>,
  account: AccountBalance,
): Promise<AccountFacts> {
  const { accountId, at, creditEndedAt } = account
  const creditStatus = creditStatusOf(account)
  // Only accounts in debt need the query for debt targets.
  const [row] = await database.rows(sql`
    SELECT a.low_credit_hours, a.debt_since, a.debt_warned_at,
      EXISTS (SELECT FROM meters m, instances i WHERE ${markedToStopSql(accountId)}),
      EXISTS (SELECT FROM meter_ends e WHERE e.account_id = a.id AND e.at <= ${at}),
      (SELECT min(m.since) FROM meters m WHERE m.account_id = a.id AND m.rate_nanos > 0),
      ${creditStatus.hasEnded && creditStatus.costPerHourNanos > 0n ? debtTargetsSql : sql`false, false, false`}
    FROM accounts a WHERE a.id = ${accountId}`)
  const [
    lowCreditHours,
    debtSince,
    debtWarnedAt,
    isRunning,
    hasEnds,
    chargedUntil,
    hasInstances,
    hasVolumes,
    hasHeldVolumes,
  ] = row as [number | null, Date | null, Date | null, boolean, boolean, Date | null, boolean, boolean, boolean]
  return {
    ...{ accountId, at, creditStatus, creditEndedAt, lowCreditHours, debtSince, debtWarnedAt },
    ...{ hasInstancesToStop: isRunning, hasEnds, chargedUntil },
    debtTargets: { hasInstances, hasVolumes, hasHeldVolumes },
  }
}

const isHeldSql = sql`EXISTS (SELECT FROM volume_attachments t WHERE t.volume_id = v.id AND t.released_at IS NULL)`
const debtTargetsSql = sql`
  EXISTS (SELECT FROM instances i WHERE i.account_id = a.id AND i.destroyed_at IS NULL),
  EXISTS (SELECT FROM volumes v WHERE v.account_id = a.id AND v.deleted_at IS NULL AND NOT ${isHeldSql}),
  EXISTS (SELECT FROM volumes v WHERE v.account_id = a.id AND v.deleted_at IS NULL AND ${isHeldSql})`

/** Instances that are marked to stop, with the reason; only those in `among`, if given. */
export async function findInstancesToStop(
  database: Pick<Transaction, 'rows'>,
  accountId: number,
  limit: number,
  among?: readonly bigint[],
): Promise<{ id: bigint; reason: TargetReason }[]> {
  const named = among ? sql`i.id = ANY(${among.map(String)}::bigint[])` : sql`true`
  const rows = await database.rows(sql`
    SELECT i.id, m.stop_reason FROM meters m, instances i WHERE ${markedToStopSql(accountId)} AND ${named}
    ORDER BY i.id LIMIT ${limit}`)
  return rows.map(([id, reason]) => ({ id, reason }) as { id: bigint; reason: TargetReason })
}

export async function findInstanceIds(
  database: Pick<Transaction, 'rows'>,
  condition: Prisma.Sql,
  limit: number,
): Promise<bigint[]> {
  const rows = await database.rows(sql`SELECT i.id FROM instances i WHERE ${condition} ORDER BY i.id LIMIT ${limit}`)
  return rows.map(([id]) => id as bigint)
}

/** A volume that no container holds, with its machine. */
export async function findDetachedVolume(
  database: Pick<Transaction, 'rows'>,
  accountId: number,
): Promise<{ id: bigint; machineId: number } | undefined> {
  const [row] = await database.rows(sql`
    SELECT v.id, v.machine_id FROM volumes v
    WHERE v.account_id = ${accountId} AND v.deleted_at IS NULL AND NOT ${isHeldSql} ORDER BY v.id LIMIT 1`)
  return row && { id: row[0] as bigint, machineId: row[1] as number }
}
