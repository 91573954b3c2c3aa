// What decides over what is to be done for an account's money.

import { Prisma } from '../database/generated/client.ts'
import type { Transaction } from '../database/transaction.ts'
import { standingOf } from '../domain/billing.ts'
import type { AccountFacts, LimitFacts } from '../domain/billing-work.ts'
import { finalStatuses } from '../domain/instances.ts'
import type { AccountBalance } from './billing-balance.ts'
import { isStoppedByLimit, limitsDueAt } from './billing-limits-look.ts'

const { sql } = Prisma

export async function factsOf(database: Pick<Transaction, 'rows'>, account: AccountBalance): Promise<AccountFacts> {
  const { accountId, at, creditEndedAt } = account
  const standing = standingOf(account)
  const stopped = stoppedFor(account)
  const runs = stopped ? sql`EXISTS (SELECT FROM instances i WHERE ${stopped})` : sql`false`
  // What debt would destroy is asked only of who has some.
  const [row] = await database.rows(sql`
    SELECT a.low_credit_hours, a.debt_since, a.debt_warned_at, ${runs},
      EXISTS (SELECT FROM meter_ends e WHERE e.account_id = a.id AND e.at <= ${at}),
      (SELECT min(m.since) FROM meters m WHERE m.account_id = a.id AND m.rate_nanos > 0),
      ${standing.isOver && standing.burnNanos > 0n ? disks : sql`false, false, false`}
    FROM accounts a WHERE a.id = ${accountId}`)
  const [lowCreditHours, debtSince, debtWarnedAt, isRunning, hasEnds, chargedUntil, instances, volumes, held] = row as [
    number | null,
    Date | null,
    Date | null,
    boolean,
    boolean,
    Date | null,
    boolean,
    boolean,
    boolean,
  ]
  return {
    ...{ at, standing, creditEndedAt, lowCreditHours, debtSince, debtWarnedAt, runs: isRunning, hasEnds, chargedUntil },
    disks: { instances, volumes, held },
    limits: await limitFacts(database, account),
  }
}

const isHeld = sql`EXISTS (SELECT FROM volume_attachments t WHERE t.volume_id = v.id AND t.released_at IS NULL)`
const disks = sql`
  EXISTS (SELECT FROM instances i WHERE i.account_id = a.id AND i.destroyed_at IS NULL),
  EXISTS (SELECT FROM volumes v WHERE v.account_id = a.id AND v.deleted_at IS NULL AND NOT ${isHeld}),
  EXISTS (SELECT FROM volumes v WHERE v.account_id = a.id AND v.deleted_at IS NULL AND ${isHeld})`

/**
 * Which instances the end of an account's credit stops, as a condition on `i`: all that are to run, or where there is
 * credit again those that were to when it ended. Undefined where it has not.
 */
export function stoppedFor({ accountId, creditEndedAt, ...balance }: AccountBalance): Prisma.Sql | undefined {
  const { isOver } = standingOf(balance)
  if (!isOver && creditEndedAt === null) return undefined
  return sql`i.account_id = ${accountId} AND i.target_state = 'running' AND i.destroyed_at IS NULL
    AND i.status <> ALL (${finalStatuses}::instance_status[])
    AND (${isOver}::boolean OR i.claimed_at <= ${creditEndedAt}::timestamptz)`
}

/** Which instances a limit stops that is noted as reached, as a condition on `i`. */
export function limitedIn({ accountId, at }: AccountBalance): Prisma.Sql {
  return sql`i.account_id = ${accountId} AND i.target_state = 'running' AND i.destroyed_at IS NULL AND EXISTS (
    SELECT FROM meters m WHERE m.instance_id = i.id AND m.kind = 'compute' AND ${isStoppedByLimit(at)})`
}

/** Whoever takes the account notes what is reached by then. */
async function limitFacts(database: Pick<Transaction, 'rows'>, account: AccountBalance): Promise<LimitFacts> {
  if (!account.isLimited) return { reached: false, nextAt: null }
  const reached = (await idsOf(database, limitedIn(account), 1)).length > 0
  return { reached, nextAt: await limitsDueAt(database, account) }
}

/** Instances of which each look stops or destroys so many at most. */
export async function idsOf(
  database: Pick<Transaction, 'rows'>,
  condition: Prisma.Sql,
  limit: number,
): Promise<bigint[]> {
  const rows = await database.rows(sql`SELECT i.id FROM instances i WHERE ${condition} ORDER BY i.id LIMIT ${limit}`)
  return rows.map(([id]) => id as bigint)
}

/** A volume that is in nothing, with its machine. */
export async function freeVolumeOf(
  database: Pick<Transaction, 'rows'>,
  accountId: number,
): Promise<{ id: bigint; machineId: number } | undefined> {
  const [row] = await database.rows(sql`
    SELECT v.id, v.machine_id FROM volumes v
    WHERE v.account_id = ${accountId} AND v.deleted_at IS NULL AND NOT ${isHeld} ORDER BY v.id LIMIT 1`)
  return row && { id: row[0] as bigint, machineId: row[1] as number }
}
