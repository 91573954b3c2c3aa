// Refuses what would exceed a limit. It is decided last: what others began before has been committed or undone by then.

import { Prisma } from '../../../database/generated/client.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { type KeyRate, limitProblems, sumCountedRates } from '../../../domain/billing/limits.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { ItemPlan } from '../../../domain/instances/command.ts'
import { type AccountBalance, lockBalance, readBalance } from '../balance.ts'
import { loadComputeRates } from '../spending.ts'
import { readLimitsWithUsage } from './usage.ts'

const { sql } = Prisma

/** The limits against something new that is not there yet. */
export async function findLimitProblems(
  database: Pick<Transaction, 'rows'>,
  account: AccountBalance,
  asked: readonly KeyRate[],
): Promise<DomainError[]> {
  return account.isLimited ? limitProblems(await readLimitsWithUsage(database, account), asked, account.at) : []
}

/** Refuses something new that this transaction has written with its meters, in an account that it has locked. */
export async function checkSpendLimits(
  tx: Transaction,
  account: AccountBalance,
  asked: readonly KeyRate[],
): Promise<void> {
  if (!account.isLimited) return
  const used = (await readLimitsWithUsage(tx, account)).map(limit =>
    limit.window === 'hour' ? { ...limit, usedNanos: limit.usedNanos - sumCountedRates(limit, asked) } : limit,
  )
  const [problem] = limitProblems(used, asked, account.at)
  if (problem) throw problem
}

/** Refuses a command by which instances are to run from now on: all of it, whichever of them would be too many. */
export async function checkStartLimits(
  tx: Transaction,
  actor: Actor,
  steps: readonly ItemPlan[],
  { dryRun, at }: { dryRun: boolean; at: Date },
): Promise<void> {
  const started = steps.filter(step => step.outcome === 'applied' && step.targetState === 'running')
  if (started.length === 0) return
  const ids = started.map(({ id }) => id)
  const account = await (dryRun ? readBalance : lockBalance)(tx, actor.accountId, at)
  await checkOwnInstances(tx, account, actor, ids)
  if (!dryRun) return await checkSpendLimits(tx, account, await loadComputeRates(tx, ids))
  const [problem] = await findLimitProblems(tx, account, await loadComputeRates(tx, ids))
  if (problem) throw problem
}

/** A key that has a limit spends more on what it rented alone: what others rented counts for them. */
export async function checkOwnInstances(
  tx: Transaction,
  { isLimited }: AccountBalance,
  { accountId, apiKeyId }: Actor,
  instanceIds: readonly bigint[],
): Promise<void> {
  if (!isLimited) return
  const [foreign] = await tx.rows(sql`
    SELECT i.id FROM instances i WHERE i.id = ANY(${instanceIds.map(String)}::bigint[]) AND i.api_key_id <> ${apiKeyId}
    AND EXISTS (SELECT FROM spend_limits l WHERE l.account_id = ${accountId} AND l.api_key_id = ${apiKeyId}) LIMIT 1`)
  if (!foreign) return
  const message = 'This key has a spend limit, so it may start, and bid more for, only what it rented itself.'
  throw new DomainError('FORBIDDEN', message, { missing: [] })
}
