import { isUsingGpus, type Observed } from '../domain/instances/containers.ts'
import { isFinal } from '../domain/instances/states.ts'
import type { InstanceState } from './instance-state.ts'
import type { Plan } from './plan.ts'

/** A machine must confirm a stop within this time. */
export const confirmMs = 5 * 60_000

/**
 * Whether the machine has not confirmed a stop within `confirmMs`. The container may still use GPUs that it must not
 * use, so the machine takes no new rentals.
 */
export function isUnconfirmed(instance: InstanceState, observed: Observed, { status }: Plan): boolean {
  const { targetState, holdsGpus, destroyed, unreachableMs, stoppingMs } = instance
  if (targetState === 'running' && holdsGpus && !destroyed && !isFinal(status)) return false
  if (observed.state !== 'unreachable') return isUsingGpus(observed) && stoppingMs >= confirmMs
  return status === 'offline' || unreachableMs >= confirmMs
}
