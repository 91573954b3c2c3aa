// Writes the plans of a command, which comes from a caller or from a due policy.

import { Prisma } from '../../../database/generated/client.ts'
import { writeTogether } from '../../../database/together.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { ItemPlan } from '../../../domain/instances/command.ts'
import type { Cause } from '../../../domain/instances/destroy-reason.ts'
import { isStarting } from '../../../domain/instances/start-backoff.ts'
import { lockAccounts } from '../../billing/balance.ts'
import { stopMeters } from '../../billing/meters.ts'
import { gpuMetersSql, instanceMetersSql } from '../../billing/sql.ts'
import { eventWrites, notifyOfEvents } from '../../events/events.ts'
import type { LockedInstance } from '../lock.ts'
import { countFailedStart, findAccountsWithGpus } from '../start-backoff.ts'
import { planEvents } from './plan-events.ts'
import { type PlannedChange, plannedChangesOf, planWrites } from './plan-writes.ts'

const { sql } = Prisma

/** Writes the applied plans to the locked instances. Returns the ids of the machines whose markets must be updated. */
export async function applyPlans(
  tx: Transaction,
  cause: Cause,
  plans: ItemPlan[],
  locked: LockedInstance[],
  at: Date,
): Promise<number[]> {
  const changes = plannedChangesOf(plans, locked, at)
  if (changes.length === 0) return []
  const events = changes.flatMap(change => planEvents(cause, change))
  const written = await writeTogether(tx, planWrites(cause, changes, at), eventWrites(events, at))
  notifyOfEvents(tx, written)
  if (written['madeDue']) tx.notifyAfterCommit('instances')
  if (written['duePolicies']) tx.notifyAfterCommit('policies')
  await stopCharging(tx, cause, changes, at)
  return [...new Set(changes.filter(({ moves }) => moves).map(({ machineId }) => machineId))]
}

/**
 * If the rental has ended, or an operator stopped it, the renter has not given up the start. The start goes on elsewhere if
 * another instance is rented in place of this one: only the last of them counts, or the failure would forbid its own
 * replacement.
 */
const notGivenUp: Cause['reason'][] = ['OPERATOR_REQUEST', 'ACCOUNT_DISABLED', 'RENTAL_ENDED', 'REPLACED']

/** Ends the GPU charges of stopped instances and all charges of destroyed instances. */
async function stopCharging(tx: Transaction, cause: Cause, changes: PlannedChange[], at: Date): Promise<void> {
  const ids = (which: PlannedChange[]) => which.map(({ subject }) => subject.id)
  const destroyed = changes.filter(({ destroy }) => destroy)
  const stopped = changes.filter(({ destroy, moves, targetState }) => !destroy && moves && targetState === 'stopped')
  const both = [...destroyed, ...stopped]
  if (both.length === 0) return
  const accounts = await lockAccounts(tx, [...new Set(both.map(one => one.accountId))], at)
  const which = sql`(${instanceMetersSql(ids(destroyed))} OR ${gpuMetersSql(ids(stopped))})`
  await stopMeters(tx, accounts, which)
  const givenUp = notGivenUp.includes(cause.reason) ? [] : both.filter(one => isStarting(one.subject))
  const failed = await findAccountsWithGpus(tx, ids(givenUp))
  await countFailedStart(
    tx,
    accounts.filter(({ accountId }) => failed.has(accountId)),
  )
  // Meters that were marked to stop, because credit ended or a limit was reached, have stopped now.
  await tx.execute(sql`UPDATE meters m SET stop_reason = NULL WHERE m.stop_reason IS NOT NULL AND ${which}`)
}
