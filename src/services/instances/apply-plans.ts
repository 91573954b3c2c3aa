// Writes the plans of a command, which comes from a caller or from a due policy.

import { Prisma } from '../../database/generated/client.ts'
import { writeTogether } from '../../database/together.ts'
import type { Transaction } from '../../database/transaction.ts'
import { systemActor } from '../../domain/events/actor.ts'
import type { ItemPlan } from '../../domain/instances/command.ts'
import { type Cause, destroyReason } from '../../domain/instances/destroy-reason.ts'
import { isStarting } from '../../domain/instances/start-backoff.ts'
import type { TargetState } from '../../domain/instances/states.ts'
import { lockAccounts } from '../billing/balance.ts'
import { stopMeters } from '../billing/meters.ts'
import { gpuMetersSql, instanceMetersSql } from '../billing/sql.ts'
import { eventWrites, type NewEvent, notifyOfEvents } from '../events/events.ts'
import { dueWrites } from '../reconciliation/due.ts'
import type { LockedInstance } from './lock.ts'
import { hasPolicySql } from './sql.ts'
import { countFailedStart, findAccountsWithGpus } from './start-backoff.ts'

const { sql } = Prisma

/** Writes the applied plans to the locked instances. Returns the ids of the machines whose markets must be updated. */
export async function applyPlans(
  tx: Transaction,
  cause: Cause,
  plans: ItemPlan[],
  locked: LockedInstance[],
  at: Date,
): Promise<number[]> {
  const planById = new Map(plans.map(plan => [plan.id, plan]))
  const changes = locked.flatMap(one => {
    const { subject } = one
    const plan = planById.get(subject.id)
    if (plan?.outcome !== 'applied') return []
    const { label = subject.label, targetState = subject.targetState, destroy = false } = plan
    const starts = !destroy && targetState === 'running' && subject.targetState === 'stopped'
    const moves = destroy || targetState !== subject.targetState
    // A `stopAt` that passed while the instance was stopped must not stop it now.
    const lapses = starts && subject.stopAt !== null && subject.stopAt <= at
    return [{ ...one, label, targetState, destroy, moves, lapses }]
  })
  if (changes.length === 0) return []
  const of = <Value>(value: (change: (typeof changes)[number]) => Value) => changes.map(value)
  const destroyed = destroyReason(cause)
  const written = await writeTogether<string>(tx, {
    changed: sql`
      UPDATE instances SET label = new.label, target_state = new.target_state,
        destroyed_at = CASE WHEN new.destroy THEN ${at}::timestamptz END,
        reason_code = CASE WHEN new.destroy THEN ${destroyed.code} ELSE reason_code END,
        reason_message = CASE WHEN new.destroy THEN ${destroyed.message} ELSE reason_message END,
        stop_at = CASE WHEN new.lapses THEN NULL ELSE stop_at END,
        policy_due_at = CASE WHEN new.destroy THEN NULL WHEN new.moves AND ${hasPolicySql} THEN ${at} ELSE policy_due_at END,
        target_reason = CASE WHEN instances.target_state <> new.target_state THEN ${cause.reason} ELSE target_reason END,
        claimed_at = CASE WHEN instances.target_state <> new.target_state THEN ${at} ELSE claimed_at END
      FROM unnest(
        ${of(({ subject }) => String(subject.id))}::bigint[], ${of(({ label }) => label)}::text[],
        ${of(({ targetState }) => targetState)}::target_state[], ${of(({ destroy }) => destroy)}::boolean[],
        ${of(({ moves }) => moves)}::boolean[], ${of(({ lapses }) => lapses)}::boolean[]
      ) AS new(id, label, target_state, destroy, moves, lapses) WHERE instances.id = new.id
      RETURNING new.moves AND coalesce(policy_due_at = ${at}, false) AS is_policy_due`,
    duePolicies: sql`SELECT FROM changed WHERE is_policy_due`,
    ...dueWrites(
      changes.filter(({ moves }) => moves).map(({ subject }) => subject.id),
      at,
    ),
    ...eventWrites(
      changes.flatMap(change => changeEvents(cause, change)),
      at,
    ),
  })
  notifyOfEvents(tx, written)
  if (written['madeDue']) tx.notifyAfterCommit('instances')
  if (written['duePolicies']) tx.notifyAfterCommit('policies')
  await stopCharging(tx, cause, changes, at)
  return [...new Set(changes.filter(({ moves }) => moves).map(({ machineId }) => machineId))]
}

type AppliedPlan = LockedInstance & {
  label: string | null
  targetState: TargetState
  destroy: boolean
  moves: boolean
  lapses: boolean
}

/** Ends the GPU charges of stopped instances and all charges of destroyed instances. */
async function stopCharging(tx: Transaction, cause: Cause, changes: AppliedPlan[], at: Date): Promise<void> {
  const ids = (which: AppliedPlan[]) => which.map(({ subject }) => subject.id)
  const destroyed = changes.filter(({ destroy }) => destroy)
  const stopped = changes.filter(({ destroy, moves, targetState }) => !destroy && moves && targetState === 'stopped')
  const both = [...destroyed, ...stopped]
  if (both.length === 0) return
  const accounts = await lockAccounts(tx, [...new Set(both.map(one => one.accountId))], at)
  const which = sql`(${instanceMetersSql(ids(destroyed))} OR ${gpuMetersSql(ids(stopped))})`
  await stopMeters(tx, accounts, which)
  // If the rental has ended, the machine gave up the start, not the renter.
  const givenUp = cause.reason === 'RENTAL_ENDED' ? [] : both.filter(one => isStarting(one.subject))
  const failed = await findAccountsWithGpus(tx, ids(givenUp))
  await countFailedStart(
    tx,
    accounts.filter(({ accountId }) => failed.has(accountId)),
  )
  // Meters that were marked to stop, because credit ended or a limit was reached, have stopped now.
  await tx.execute(sql`UPDATE meters m SET stop_reason = NULL WHERE m.stop_reason IS NOT NULL AND ${which}`)
}

function changeEvents(
  { actor, reason }: Cause,
  { subject, accountId, label, targetState, destroy, lapses }: AppliedPlan,
): NewEvent[] {
  const event = { actor, reason, accountId, instanceId: subject.id }
  const [oldState, newState] = [{ targetState: subject.targetState }, { targetState }]
  const [oldLabel, newLabel] = [{ label: subject.label }, { label }]
  return [
    ...(destroy ? [{ ...event, kind: 'INSTANCE_DESTROYED' as const }] : []),
    ...(targetState !== subject.targetState
      ? [{ ...event, kind: 'INSTANCE_TARGET_CHANGED' as const, before: oldState, after: newState }]
      : []),
    ...(lapses ? [stopAtClearedEvent({ accountId, instanceId: subject.id, stopAt: subject.stopAt })] : []),
    ...(label !== subject.label
      ? [{ ...event, kind: 'INSTANCE_LABEL_CHANGED' as const, before: oldLabel, after: newLabel }]
      : []),
  ]
}

/** The event of a `stopAt` that has passed and is cleared. */
export function stopAtClearedEvent({
  stopAt,
  ...about
}: {
  accountId: number
  instanceId: bigint
  stopAt: Date | null
}): NewEvent {
  const before = { stopAt: stopAt?.toISOString() ?? null }
  const after = { stopAt: null }
  return { ...about, actor: systemActor, kind: 'INSTANCE_POLICY_CHANGED', before, after, reason: 'SCHEDULE' }
}
