// From a lease to what is wished, and from what was seen to what is written.

import { isActive, type Truth } from '../domain/instances/containers.ts'
import { isFinal } from '../domain/instances/states.ts'
import type { Finding } from '../services/reconciliation/finding.ts'
import type { Lease } from '../services/reconciliation/leases.ts'
import { isUnconfirmed } from './confirmation.ts'
import type { Limits, Plan, Wish } from './plan.ts'

/** How soon to look again at what is changing, when the provider does not say; and at what runs, in case it ends. */
const movingMs = 2_000
const runningMs = 60_000
/** And at what is at rest: its machine may have lost it, or begun late what it was told before somebody wished otherwise. */
const restingMs = 10 * 60_000
const longestBackOffMs = 60_000

export function wishOf(lease: Lease, now: Date): Wish {
  const { status, unreachableAt, statusChangedAt, destroyedAt } = lease
  const since = (instant: Date | null) => (instant === null ? 0 : Math.max(0, now.getTime() - instant.getTime()))
  return {
    ...lease,
    unreachableMs: since(unreachableAt),
    loadingMs: since(status === 'loading' ? statusChangedAt : null),
    stoppingMs: since(destroyedAt ?? (status === 'stopping' || isFinal(status) ? statusChangedAt : null)),
  }
}

export function findingOf(wish: Wish, truth: Truth, plan: Plan, now: Date): Omit<Finding, 'seenAt'> {
  const { status, reason, restart } = plan
  const { state } = truth
  return {
    status,
    reason,
    ran: state === 'running',
    inactive: !isActive(truth),
    ...((state === 'failed' || state === 'absent') && { endedAt: null }),
    ...(state === 'exited' && { endedAt: truth.endedAt ?? null }),
    gone: wish.destroyed && state === 'absent',
    answered: state !== 'unreachable',
    unconfirmed: isUnconfirmed(wish, truth, plan),
    failed: state === 'unreachable',
    restart,
    dueAt: plan.settled ? afterRest(truth, now) : restart === undefined ? nextLook(truth, now, movingMs) : now,
  }
}

/** When a machine is asked again that did not answer or could not do what it was told: ever more rarely, and just when its grace ends. */
export function backOff({ attempts }: Lease, wish: Wish, { offlineGraceMs }: Limits, now: Date): Date {
  const { unreachableMs, destroyed, status } = wish
  const graceMs = offlineGraceMs - unreachableMs
  // Nobody waits for what has ended but its machine, which has been away for ten times as long.
  const ended = destroyed || isFinal(status)
  const longestMs = ended ? Math.min(Math.max(longestBackOffMs, unreachableMs / 10), restingMs) : longestBackOffMs
  const delayMs = Math.min(1_000 * 2 ** attempts, longestMs)
  return after(now, graceMs > 0 ? Math.min(delayMs, graceMs) : delayMs)
}

/** What is not there cannot begin anything late. */
function afterRest(truth: Truth, now: Date): Date | null {
  if (truth.state === 'absent') return null
  return truth.state === 'running' ? nextLook(truth, now, runningMs) : after(now, restingMs)
}

/** When the provider expects something else to be seen, but never so late that a heartbeat is left out. */
function nextLook(truth: Truth, now: Date, ms: number): Date {
  const expected = 'until' in truth ? truth.until : undefined
  const latest = after(now, runningMs)
  if (!expected) return after(now, ms)
  return expected < latest ? expected : latest
}

export function after(instant: Date, ms: number): Date {
  return new Date(instant.getTime() + ms)
}
