// Refuses requests that would exceed a spend limit. The transaction must have locked the account: transactions that had
// the lock before have ended, so the check counts their rates. Quotes and dry runs only predict, without a lock.

import { Prisma } from '../../../database/generated/client.ts'
import type { Statements } from '../../../database/statements.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { type KeyRate, limitErrors, sumCountedRates } from '../../../domain/billing/limits.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { AccountBalance } from '../balance.ts'
import { loadGpuRates } from '../spending.ts'
import { readLimitsWithUsage } from './usage.ts'

const { sql } = Prisma

/** The errors of the limits that refuse rates which are not written yet. */
export async function findLimitErrors(
  database: Pick<Statements, 'query'>,
  account: AccountBalance,
  added: readonly KeyRate[],
): Promise<DomainError[]> {
  return account.isLimited ? limitErrors(await readLimitsWithUsage(database, account), added, account.at) : []
}

/** Refuses rates that exceed a limit. This transaction has locked the account and written what causes the rates. */
export async function checkSpendLimits(
  tx: Transaction,
  account: AccountBalance,
  added: readonly KeyRate[],
): Promise<void> {
  if (!account.isLimited) return
  const used = (await readLimitsWithUsage(tx, account)).map(limit =>
    limit.window === 'hour' ? { ...limit, usedNanos: limit.usedNanos - sumCountedRates(limit, added) } : limit,
  )
  const [error] = limitErrors(used, added, account.at)
  if (error) throw error
}

/** Refuses a command that starts more than a limit allows. The whole command is refused, not single instances. */
export async function checkStartLimits(
  tx: Transaction,
  actor: Actor,
  account: AccountBalance,
  started: readonly { id: bigint }[],
  { dryRun }: { dryRun: boolean },
): Promise<void> {
  if (started.length === 0 || !account.isLimited) return
  const ids = started.map(({ id }) => id)
  await checkOwnInstances(tx, account, actor, ids)
  const rates = await loadGpuRates(tx, ids)
  if (!dryRun) return await checkSpendLimits(tx, account, rates)
  const [error] = await findLimitErrors(tx, account, rates)
  if (error) throw error
}

/**
 * A key with a limit may raise the costs of its own instances only: other instances count against the limits of the
 * keys that rented them.
 */
export async function checkOwnInstances(
  tx: Transaction,
  { isLimited }: AccountBalance,
  { accountId, apiKeyId }: Actor,
  instanceIds: readonly bigint[],
): Promise<void> {
  if (!isLimited) return
  const foreign = await tx.execute(sql`
    SELECT i.id FROM instances i WHERE i.id = ANY(${instanceIds.map(String)}::bigint[]) AND i.api_key_id <> ${apiKeyId}
    AND EXISTS (SELECT FROM spend_limits l WHERE l.account_id = ${accountId} AND l.api_key_id = ${apiKeyId}) LIMIT 1`)
  if (foreign === 0) return
  const message =
    'This API key has a spend limit, so it may start, and raise the bids of, only instances that it rented itself. For other instances, use the API keys that rented them.'
  throw new DomainError('FORBIDDEN', message, { missing: [] })
}
