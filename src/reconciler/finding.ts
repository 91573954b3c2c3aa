// Derives the finding of a pass from what it observed and planned, and when the next pass is due.

import { isUsingGpus, type Observed } from '../domain/instances/containers.ts'
import { isFinal } from '../domain/instances/states.ts'
import type { Finding } from '../services/reconciliation/finding.ts'
import type { InstanceLease } from '../services/reconciliation/leases.ts'
import { isUnconfirmed } from './confirmation.ts'
import type { InstanceState, TimeLimits } from './instance-state.ts'
import type { Plan } from './plan.ts'

/** Time to the next pass while a container changes, if the provider does not say when it expects the next state. */
const changingPassMs = 2_000
/** Time to the next pass while a container runs, since it may exit. */
const runningPassMs = 60_000
/** Time to the next pass at rest. The machine may have lost the container, or may act late on an outdated command. */
const restingPassMs = 10 * 60_000
const maxBackOffMs = 60_000

export function findingOf(
  instance: InstanceState,
  observed: Observed,
  plan: Plan,
  now: Date,
): Omit<Finding, 'seenAt' | 'endedAt'> {
  const { status, reason, restart } = plan
  const { state } = observed
  return {
    status,
    reason,
    ran: state === 'running',
    usesGpus: isUsingGpus(observed),
    ...(state === 'failed' && observed.fault && { fault: observed.fault }),
    gone: instance.destroyed && state === 'absent',
    answered: state !== 'unreachable',
    unconfirmed: isUnconfirmed(instance, observed, plan),
    needsRetry: state === 'unreachable',
    restart,
    dueAt: nextPassOf(plan, observed, now),
  }
}

/** When a container ended, null if that is unknown; undefined while it has not ended. */
export function endOf(observed: Observed): Date | null | undefined {
  if (observed.state === 'exited') return observed.endedAt ?? null
  return observed.state === 'failed' || observed.state === 'absent' ? null : undefined
}

/**
 * When the next pass is due. Three places replace this: `runPass` if GPUs are still in use, `record` before a retry, and
 * `recordFinding` if the instance just ended.
 */
function nextPassOf({ settled, restart }: Plan, observed: Observed, now: Date): Date | null {
  if (settled) return nextPassAtRest(observed, now)
  // At once after progress of a restart: it is recorded before the next step.
  if (restart !== undefined) return now
  return nextChangeAt(observed, now, changingPassMs)
}

/**
 * When to retry a machine that did not answer or refused a step: with backoff, but no later than its grace period ends.
 */
export function retryAt(
  { attempts }: InstanceLease,
  instance: InstanceState,
  { offlineGraceMs }: TimeLimits,
  now: Date,
): Date {
  const { unreachableMs, destroyed, status } = instance
  const graceMs = offlineGraceMs - unreachableMs
  // No renter waits for an ended instance, so the time between its retries may grow to a tenth of the time that the
  // machine has not answered.
  const ended = destroyed || isFinal(status)
  const longestMs = ended ? Math.min(Math.max(maxBackOffMs, unreachableMs / 10), restingPassMs) : maxBackOffMs
  const delayMs = Math.min(1_000 * 2 ** attempts, longestMs)
  return addMs(now, graceMs > 0 ? Math.min(delayMs, graceMs) : delayMs)
}

/** Null for an absent container: it cannot act on a late command. */
function nextPassAtRest(observed: Observed, now: Date): Date | null {
  if (observed.state === 'absent') return null
  return observed.state === 'running' ? nextChangeAt(observed, now, runningPassMs) : addMs(now, restingPassMs)
}

/**
 * When the provider expects a change, but within `runningPassMs`, so that `seenAt` stays recent. If the provider says
 * nothing, after `otherwiseMs`.
 */
function nextChangeAt(observed: Observed, now: Date, otherwiseMs: number): Date {
  const expected = 'until' in observed ? observed.until : undefined
  const latest = addMs(now, runningPassMs)
  if (!expected) return addMs(now, otherwiseMs)
  return expected < latest ? expected : latest
}

export function addMs(instant: Date, ms: number): Date {
  return new Date(instant.getTime() + ms)
}
