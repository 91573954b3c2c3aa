// Instances that are started and never run hold GPUs for nothing. After a few such failures in a row the account waits
// before it starts the next one: twice as long each time, until one runs.

import { DomainError } from '../errors.ts'
import type { InstanceStatus, TargetState } from './states.ts'

/** Failures in a row, and when the last one was counted. */
export type StartFailures = { count: number; lastAt: Date | null }

/** This many failures in a row cost no wait. */
export const failuresBeforeBackoff = 5
const firstBackoffMs = 60_000
const maxBackoffMs = 3_600_000
/** More failures make no longer wait. */
const maxCountedFailures = 30

/** Until when nothing more may start; null when something may. */
export function backoffUntil({ count, lastAt }: StartFailures): Date | null {
  if (lastAt === null || count <= failuresBeforeBackoff) return null
  const delayMs = firstBackoffMs * 2 ** (count - failuresBeforeBackoff - 1)
  return new Date(lastAt.getTime() + Math.min(delayMs, maxBackoffMs))
}

/** Counts a failure. During a wait none counts: what fails then was started before, beside the one that counted. */
export function addFailure(failures: StartFailures, at: Date): StartFailures {
  const until = backoffUntil(failures)
  if (until !== null && at < until) return failures
  return { count: Math.min(failures.count + 1, maxCountedFailures), lastAt: at }
}

export function backoffProblem(failures: StartFailures, at: Date): DomainError | undefined {
  const retryAfter = backoffUntil(failures)
  if (retryAfter === null || at >= retryAfter) return undefined
  const summary = `The last ${failures.count} starts of the account failed, or were given up before they ran.`
  const message = `${summary} Start the next one after ${retryAfter.toISOString()}.`
  return new DomainError('START_BACKOFF', message, { retryAfter })
}

type StartState = { targetState: TargetState; status: InstanceStatus }

/**
 * Whether the reconciler is starting an instance. To give it up then is a failed start, if it holds its GPUs. Before
 * the reconciler begins, which takes a moment, nothing is held that matters.
 */
export function isStarting({ targetState, status }: StartState): boolean {
  return targetState === 'running' && (status === 'scheduling' || status === 'loading')
}

/** Whether an instance that has ended by itself had not run since it was started. */
export function hasNotRun(before: StartState): boolean {
  return isStarting(before) || (before.targetState === 'running' && ['created', 'stopped'].includes(before.status))
}
