import { isUsingGpus, type Observed } from '../domain/instances/containers.ts'
import { isFinal } from '../domain/instances/states.ts'
import type { Desired, Plan } from './plan.ts'

/** A stop that is not confirmed for so long speaks against the machine. */
export const confirmMs = 5 * 60_000

/**
 * Whether its machine owes an answer for too long: it may still use GPUs that it is not to use, and nobody knows. Such
 * a machine is given nothing new.
 */
export function isUnconfirmed(desired: Desired, observed: Observed, { status }: Plan): boolean {
  const { targetState, granted, destroyed, unreachableMs, stoppingMs } = desired
  if (targetState === 'running' && granted && !destroyed && !isFinal(status)) return false
  if (observed.state !== 'unreachable') return isUsingGpus(observed) && stoppingMs >= confirmMs
  return status === 'offline' || unreachableMs >= confirmMs
}
