// Refuses what would exceed a limit. It is decided last: what others began before has been committed or undone by then.

import type { Transaction } from '../database/transaction.ts'
import { type Asked, countedBy, limitProblems } from '../domain/billing-limits.ts'
import type { DomainError } from '../domain/errors.ts'
import type { Step } from '../domain/instances-command.ts'
import { type AccountBalance, lockBalance, readBalance } from './billing-balance.ts'
import { usedLimits } from './billing-limits-look.ts'
import { computeRates } from './billing-spent.ts'

/** The limits against something new that is not there yet. */
export async function problemsOfLimits(
  database: Pick<Transaction, 'rows'>,
  account: AccountBalance,
  asked: readonly Asked[],
): Promise<DomainError[]> {
  return account.isLimited ? limitProblems(await usedLimits(database, account), asked, account.at) : []
}

/** Refuses something new that this transaction has written with its meters, in an account that it has locked. */
export async function refuseBeyondLimits(
  tx: Transaction,
  account: AccountBalance,
  asked: readonly Asked[],
): Promise<void> {
  if (!account.isLimited) return
  const used = (await usedLimits(tx, account)).map(limit =>
    limit.window === 'hour' ? { ...limit, usedNanos: limit.usedNanos - countedBy(limit, asked) } : limit,
  )
  const [problem] = limitProblems(used, asked, account.at)
  if (problem) throw problem
}

/** Refuses a command by which instances are to run from now on: all of it, whichever of them would be too many. */
export async function refuseStarts(
  tx: Transaction,
  accountId: number,
  steps: readonly Step[],
  { dryRun, at }: { dryRun: boolean; at: Date },
): Promise<void> {
  const started = steps.filter(step => step.outcome === 'applied' && step.targetState === 'running')
  if (started.length === 0) return
  const ids = started.map(({ id }) => id)
  if (!dryRun) return await refuseBeyondLimits(tx, await lockBalance(tx, accountId, at), await computeRates(tx, ids))
  const [problem] = await problemsOfLimits(tx, await readBalance(tx, accountId, at), await computeRates(tx, ids))
  if (problem) throw problem
}
