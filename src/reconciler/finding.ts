// From a lease to what is wished, and from what was seen to what is written.

import { isUsingGpus, type Observed } from '../domain/instances/containers.ts'
import { isFinal } from '../domain/instances/states.ts'
import type { Finding } from '../services/reconciliation/finding.ts'
import type { InstanceLease } from '../services/reconciliation/leases.ts'
import { isUnconfirmed } from './confirmation.ts'
import type { Desired, Plan, TimeLimits } from './plan.ts'

/** How soon to look again at what is changing, when the provider does not say; and at what runs, in case it ends. */
const changingPassMs = 2_000
const runningPassMs = 60_000
/** And at what is at rest: its machine may have lost it, or begun late what it was told before somebody wished otherwise. */
const restingPassMs = 10 * 60_000
const maxBackOffMs = 60_000

export function desiredOf(lease: InstanceLease, now: Date): Desired {
  const { status, unreachableAt, statusChangedAt, destroyedAt } = lease
  const since = (instant: Date | null) => (instant === null ? 0 : Math.max(0, now.getTime() - instant.getTime()))
  return {
    ...lease,
    unreachableMs: since(unreachableAt),
    loadingMs: since(status === 'loading' ? statusChangedAt : null),
    stoppingMs: since(destroyedAt ?? (status === 'stopping' || isFinal(status) ? statusChangedAt : null)),
  }
}

export function findingOf(desired: Desired, observed: Observed, plan: Plan, now: Date): Omit<Finding, 'seenAt'> {
  const { status, reason, restart } = plan
  const { state } = observed
  return {
    status,
    reason,
    ran: state === 'running',
    inactive: !isUsingGpus(observed),
    ...((state === 'failed' || state === 'absent') && { endedAt: null }),
    ...(state === 'exited' && { endedAt: observed.endedAt ?? null }),
    gone: desired.destroyed && state === 'absent',
    answered: state !== 'unreachable',
    unconfirmed: isUnconfirmed(desired, observed, plan),
    failed: state === 'unreachable',
    restart,
    dueAt: plan.settled
      ? nextPassAtRest(observed, now)
      : restart === undefined
        ? nextPassAt(observed, now, changingPassMs)
        : now,
  }
}

/** When a machine is asked again that did not answer or could not do what it was told: ever more rarely, and just when its grace ends. */
export function retryAt(
  { attempts }: InstanceLease,
  desired: Desired,
  { offlineGraceMs }: TimeLimits,
  now: Date,
): Date {
  const { unreachableMs, destroyed, status } = desired
  const graceMs = offlineGraceMs - unreachableMs
  // Nobody waits for what has ended but its machine, which has been away for ten times as long.
  const ended = destroyed || isFinal(status)
  const longestMs = ended ? Math.min(Math.max(maxBackOffMs, unreachableMs / 10), restingPassMs) : maxBackOffMs
  const delayMs = Math.min(1_000 * 2 ** attempts, longestMs)
  return addMs(now, graceMs > 0 ? Math.min(delayMs, graceMs) : delayMs)
}

/** What is not there cannot begin anything late. */
function nextPassAtRest(observed: Observed, now: Date): Date | null {
  if (observed.state === 'absent') return null
  return observed.state === 'running' ? nextPassAt(observed, now, runningPassMs) : addMs(now, restingPassMs)
}

/** When the provider expects something else to be seen, but never so late that a heartbeat is left out. */
function nextPassAt(observed: Observed, now: Date, ms: number): Date {
  const expected = 'until' in observed ? observed.until : undefined
  const latest = addMs(now, runningPassMs)
  if (!expected) return addMs(now, ms)
  return expected < latest ? expected : latest
}

export function addMs(instant: Date, ms: number): Date {
  return new Date(instant.getTime() + ms)
}
