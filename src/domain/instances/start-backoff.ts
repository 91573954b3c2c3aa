// Instances that start and never run hold GPUs for nothing. After a few such failures in a row the account must wait
// before its next start. The wait doubles with each failure and ends when an instance runs.

import { DomainError } from '../errors.ts'
import type { InstanceStatus, TargetState } from './states.ts'

/** Failures in a row, and when the last one was counted. */
export type StartFailures = { count: number; lastAt: Date | null }

/** This many failures in a row cost no wait. */
export const failuresBeforeBackoff = 5
const firstBackoffMs = 60_000
const maxBackoffMs = 3_600_000
/** Counting stops here: the wait has long reached its maximum. */
const maxCountedFailures = 30

/** Until when the account may not start an instance; null when there is no wait. */
export function backoffUntil({ count, lastAt }: StartFailures): Date | null {
  if (lastAt === null || count <= failuresBeforeBackoff) return null
  const delayMs = firstBackoffMs * 2 ** (count - failuresBeforeBackoff - 1)
  return new Date(lastAt.getTime() + Math.min(delayMs, maxBackoffMs))
}

/** Counts a failure. Failures during a wait do not count: their instances were started before the wait. */
export function addFailure(failures: StartFailures, at: Date): StartFailures {
  const until = backoffUntil(failures)
  if (until !== null && at < until) return failures
  return { count: Math.min(failures.count + 1, maxCountedFailures), lastAt: at }
}

export function backoffError(failures: StartFailures, at: Date): DomainError | undefined {
  const retryAfter = backoffUntil(failures)
  if (retryAfter === null || at >= retryAfter) return undefined
  const summary = `The last ${failures.count} starts of the account failed or were given up before the instance ran.`
  const message = `${summary} Start the next one after ${retryAfter.toISOString()}.`
  return new DomainError('START_BACKOFF', message, { retryAfter })
}

type StartState = { targetState: TargetState; status: InstanceStatus }

/**
 * Whether the reconciler is starting an instance. Giving up the start now counts as a failure, if the instance holds its
 * GPUs. In the moment before the reconciler begins, giving up does not count.
 */
export function isStarting({ targetState, status }: StartState): boolean {
  return targetState === 'running' && (status === 'scheduling' || status === 'loading')
}

/** Whether an instance that ended on its own had not run since it was started. */
export function hasNotRun(before: StartState): boolean {
  return isStarting(before) || (before.targetState === 'running' && ['created', 'stopped'].includes(before.status))
}
