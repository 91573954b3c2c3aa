// Writes the plans of a command, which comes from a caller or from a due policy.

import { Prisma } from '../../database/generated/client.ts'
import type { Transaction } from '../../database/transaction.ts'
import { systemActor } from '../../domain/events/actor.ts'
import type { ItemPlan } from '../../domain/instances/command.ts'
import { type Cause, destroyReason } from '../../domain/instances/destroy-reason.ts'
import { isStarting } from '../../domain/instances/start-backoff.ts'
import type { TargetState } from '../../domain/instances/states.ts'
import { lockAccount } from '../billing/balance.ts'
import { stopMeters } from '../billing/meters.ts'
import { gpuMetersSql, instanceMetersSql } from '../billing/sql.ts'
import { type NewEvent, recordEvents } from '../events/events.ts'
import type { LockedInstance } from './lock.ts'
import { countFailedStart, hasGpuHolder } from './start-backoff.ts'

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
  const of = <Value>(value: (change: (typeof changes)[number]) => Value) => changes.map(value)
  const destroyed = destroyReason(cause)
  await tx.execute(sql`
    UPDATE instances SET label = new.label, target_state = new.target_state,
      destroyed_at = CASE WHEN new.destroy THEN ${at}::timestamptz END,
      reason_code = CASE WHEN new.destroy THEN ${destroyed.code} ELSE reason_code END,
      reason_message = CASE WHEN new.destroy THEN ${destroyed.message} ELSE reason_message END,
      stop_at = CASE WHEN new.lapses THEN NULL ELSE stop_at END,
      policy_due_at = CASE WHEN new.destroy THEN NULL WHEN new.moves AND ${hasPolicySql} THEN ${at} ELSE policy_due_at END,
      target_reason = CASE WHEN instances.target_state <> new.target_state THEN ${cause.reason} ELSE target_reason END,
      claimed_at = CASE WHEN instances.target_state <> new.target_state THEN ${at} ELSE claimed_at END,
      generation = generation + new.moves::int, due_at = CASE WHEN new.moves THEN ${at} ELSE due_at END
    FROM unnest(
      ${of(({ subject }) => String(subject.id))}::bigint[], ${of(({ label }) => label)}::text[],
      ${of(({ targetState }) => targetState)}::target_state[], ${of(({ destroy }) => destroy)}::boolean[],
      ${of(({ moves }) => moves)}::boolean[], ${of(({ lapses }) => lapses)}::boolean[]
    ) AS new(id, label, target_state, destroy, moves, lapses) WHERE instances.id = new.id`)
  await recordEvents(
    tx,
    changes.flatMap(change => changeEvents(cause, change)),
    at,
  )
  await stopCharging(tx, cause, changes, at)
  return [...new Set(changes.filter(({ moves }) => moves).map(({ machineId }) => machineId))]
}

/** Whether an instance has a policy. After a change of such an instance, its next action must be computed again. */
export const hasPolicySql = sql`num_nonnulls(stop_at, stop_at_cost_nanos, destroy_at, destroy_stopped_ms) > 0`

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
  const accountIds = [...new Set([...destroyed, ...stopped].map(one => one.accountId))]
  for (const accountId of accountIds.toSorted((a, b) => a - b)) {
    const account = await lockAccount(tx, accountId, at)
    const which = sql`(${instanceMetersSql(ids(destroyed))} OR ${gpuMetersSql(ids(stopped))})`
    await stopMeters(tx, account, which)
    const givenUp = [...destroyed, ...stopped].filter(one => one.accountId === accountId && isStarting(one.subject))
    // The machine ended the rental, not the renter.
    if (cause.reason !== 'RENTAL_ENDED' && (await hasGpuHolder(tx, ids(givenUp)))) await countFailedStart(tx, account)
    // Meters that were marked to stop, because credit ended or a limit was reached, have stopped now.
    await tx.execute(sql`
      UPDATE meters m SET stop_reason = NULL WHERE m.account_id = ${accountId} AND m.stop_reason IS NOT NULL AND ${which}`)
  }
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
