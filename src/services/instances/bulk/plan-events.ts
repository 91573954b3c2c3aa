// The events of a command's plans.

import { systemActor } from '../../../domain/events/actor.ts'
import type { Cause } from '../../../domain/instances/destroy-reason.ts'
import type { NewEvent } from '../../events/events.ts'
import type { PlannedChange } from './plan-writes.ts'

export function planEvents(
  { actor, reason, note }: Cause,
  { subject, accountId, label, targetState, destroy, lapses }: PlannedChange,
): NewEvent[] {
  const event = { actor, reason, accountId, instanceId: subject.id, ...(note !== undefined && { note }) }
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
