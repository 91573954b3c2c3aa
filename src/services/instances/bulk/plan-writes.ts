// The writes of a command's plans to instances, for `writeTogether`.

import { Prisma } from '../../../database/generated/client.ts'
import { joinWrites, type Writes } from '../../../database/together.ts'
import type { ItemPlan } from '../../../domain/instances/command.ts'
import { type Cause, destroyReason } from '../../../domain/instances/destroy-reason.ts'
import type { TargetState } from '../../../domain/instances/states.ts'
import { dueWrites } from '../../reconciliation/due.ts'
import type { LockedInstance } from '../lock.ts'
import { hasPolicySql } from '../sql.ts'

const { sql } = Prisma

/** An applied plan with the instance as it was. */
export type PlannedChange = LockedInstance & {
  label: string | null
  targetState: TargetState
  destroy: boolean
  /** Whether its target state changes or it is destroyed: then its machine's market must be updated. */
  moves: boolean
  /** Whether its `stopAt` is cleared. */
  lapses: boolean
}

export function plannedChangesOf(plans: readonly ItemPlan[], locked: readonly LockedInstance[], at: Date) {
  const planById = new Map(plans.map(plan => [plan.id, plan]))
  return locked.flatMap((one): PlannedChange[] => {
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
}

/** The accounts of the instances that `planWrites` makes due, by their ids. */
export function dueAccounts(plans: readonly ItemPlan[], locked: readonly LockedInstance[], at: Date) {
  const moved = plannedChangesOf(plans, locked, at).filter(({ moves }) => moves)
  return new Map(moved.map(({ subject, accountId }) => [subject.id, accountId]))
}

export function planWrites(cause: Cause, changes: readonly PlannedChange[], at: Date): Writes {
  const moved = changes.filter(({ moves }) => moves)
  const relabeled = changes.filter(({ moves }) => !moves)
  return joinWrites(moveWrites(cause, moved, at), labelWrites(relabeled))
}

function moveWrites(cause: Cause, changes: readonly PlannedChange[], at: Date): Writes {
  if (changes.length === 0) return {}
  const of = <Value>(value: (change: PlannedChange) => Value) => changes.map(value)
  const ids = of(({ subject }) => subject.id)
  const destroyed = destroyReason(cause)
  const moves = {
    moved: sql`
      UPDATE instances SET label = new.label, target_state = new.target_state,
        destroyed_at = CASE WHEN new.destroy THEN ${at}::timestamptz END,
        reason_code = CASE WHEN new.destroy THEN ${destroyed.code} ELSE reason_code END,
        reason_message = CASE WHEN new.destroy THEN ${destroyed.message} ELSE reason_message END,
        stop_at = CASE WHEN new.lapses THEN NULL ELSE stop_at END,
        policy_due_at = CASE WHEN new.destroy THEN NULL WHEN ${hasPolicySql} THEN ${at} ELSE policy_due_at END,
        target_reason = CASE WHEN instances.target_state <> new.target_state THEN ${cause.reason} ELSE target_reason END,
        target_message = CASE WHEN instances.target_state <> new.target_state THEN ${cause.message ?? null} ELSE target_message END,
        claimed_at = CASE WHEN instances.target_state <> new.target_state THEN ${at} ELSE claimed_at END
      FROM unnest(
        ${ids.map(String)}::bigint[], ${of(({ label }) => label)}::text[], ${of(({ targetState }) => targetState)}::target_state[],
        ${of(({ destroy }) => destroy)}::boolean[], ${of(({ lapses }) => lapses)}::boolean[]
      ) AS new(id, label, target_state, destroy, lapses) WHERE instances.id = new.id
      RETURNING coalesce(policy_due_at = ${at}, false) AS is_policy_due`,
    duePolicies: sql`SELECT FROM moved WHERE is_policy_due`,
  }
  return joinWrites(moves, dueWrites(ids, at))
}

/** A command gives all instances one label, so it is sent once. */
function labelWrites(changes: readonly PlannedChange[]): Writes {
  const [first] = changes
  if (!first) return {}
  const ids = changes.map(({ subject }) => String(subject.id))
  return { relabeled: sql`UPDATE instances SET label = ${first.label} WHERE id = ANY(${ids}::bigint[]) RETURNING 1` }
}
