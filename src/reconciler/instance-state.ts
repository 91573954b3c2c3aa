// The state of an instance that decides its plan, and what that state says.

import { areSameKeys } from '../domain/accounts/ssh-keys.ts'
import { type InstanceStatus, isFinal, type Restart, type TargetState } from '../domain/instances/states.ts'
import type { InstanceLease } from '../services/reconciliation/leases.ts'

/** What the renter and the market want of an instance, and what was last recorded of it. */
export type InstanceState = {
  targetState: TargetState
  /** Why the target state last changed; null if it never has. */
  targetReason: string | null
  /** What the operator wrote about that change. */
  targetMessage: string | null
  /** Whether the market gave the instance its GPUs. */
  holdsGpus: boolean
  interruptible: boolean
  destroyed: boolean
  status: InstanceStatus
  hasRun: boolean
  /** Whether the machine refused the last step. */
  refused: boolean
  /** The remaining part of a restart; null if there is none. */
  restart: Restart | null
  /** Public keys that may log in; null if the container keeps the keys it has. */
  sshKeys: string[] | null
  /** How long the machine has not answered; 0 if it answers. */
  unreachableMs: number
  /** How long the instance has been loading; 0 if it is not. */
  loadingMs: number
  /** Time since the instance was destroyed, began to stop or ended; 0 otherwise. */
  stoppingMs: number
}

/** How long to wait for a container to come up, and for a machine to answer again. */
export type TimeLimits = { startTimeoutMs: number; offlineGraceMs: number }

/** No time counts as longer than the clock has run steadily: an instance that has just begun to load must not time out because it was set. */
export function instanceStateOf(lease: InstanceLease, clock: { now(): Date; steadyMs(): number }): InstanceState {
  const { status, unreachableAt, statusChangedAt, destroyedAt } = lease
  const [nowMs, steadyMs] = [clock.now().getTime(), clock.steadyMs()]
  const since = (instant: Date | null) =>
    instant === null ? 0 : Math.min(Math.max(0, nowMs - instant.getTime()), steadyMs)
  return {
    ...lease,
    unreachableMs: since(unreachableAt),
    loadingMs: since(status === 'loading' ? statusChangedAt : null),
    stoppingMs: since(destroyedAt ?? (status === 'stopping' || isFinal(status) ? statusChangedAt : null)),
  }
}

export function shouldRun({ targetState, holdsGpus }: InstanceState): boolean {
  return targetState === 'running' && holdsGpus
}

/** An instance holds its GPUs while it loads, free of charge, and while it stops. Neither may last forever. */
export function hasLoadTimedOut({ status, loadingMs }: InstanceState, { startTimeoutMs }: TimeLimits): boolean {
  return status === 'loading' && loadingMs >= startTimeoutMs
}

export function hasStopTimedOut({ status, stoppingMs }: InstanceState, { startTimeoutMs }: TimeLimits): boolean {
  return status === 'stopping' && stoppingMs >= startTimeoutMs
}

/** The container of an instance that has run must exist, unless a recycle removed it. */
export function isContainerExpected({ hasRun, restart }: Pick<InstanceState, 'hasRun' | 'restart'>): boolean {
  return hasRun && restart !== 'anew'
}

/**
 * Whether a container that exited counts as stopped and may start again: its instance was stopping, stopped or waiting for
 * GPUs, or its start was refused.
 */
export function canStartAfterExit({ status, refused }: InstanceState): boolean {
  return ['stopped', 'stopping', 'scheduling'].includes(status) || (status === 'loading' && refused)
}

export function hasOtherKeys(instance: InstanceState, container: { sshKeys: string[] }): boolean {
  return instance.sshKeys !== null && !areSameKeys(instance.sshKeys, container.sshKeys)
}
