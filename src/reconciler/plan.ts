import { areSameKeys } from '../domain/accounts/ssh-keys.ts'
import { isUsingGpus, type Observed } from '../domain/instances/containers.ts'
import type { Reason } from '../domain/instances/instances.ts'
import { type InstanceStatus, isFinal, type Restart, type TargetState } from '../domain/instances/states.ts'
import {
  containerLost,
  exited,
  hostOffline,
  hostUnreachable,
  machineError,
  outbid,
  pulling,
  rebooting,
  recycling,
  restarting,
  started,
  starting,
  startTimeout,
  stopReasonOf,
  waitingForGpus,
} from './reasons.ts'

/** What the renter and the market want of an instance, and what was last recorded of it. */
export type Desired = {
  targetState: TargetState
  /** Why the target state last changed; null if it never has. */
  targetReason: string | null
  /** Whether the market granted the instance its GPUs. */
  granted: boolean
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
  /** How long the container has had to go down; 0 if it may run. */
  stoppingMs: number
}

/** How long to wait for a container to come up, and for a machine to answer again. */
export type TimeLimits = { startTimeoutMs: number; offlineGraceMs: number }

export type DriverStep = 'ensure' | 'setSshKeys' | 'start' | 'stop' | 'remove'

/**
 * What to do next and what to record. A `settled` plan has nothing to do until the desired state changes. `restart` is
 * the remaining part of a restart; absent if unchanged.
 */
export type Plan = {
  steps: DriverStep[]
  status: InstanceStatus
  reason?: Reason | undefined
  settled: boolean
  restart?: Restart | null
}

type ReachableObserved = Exclude<Observed, { state: 'unreachable' }>

/** Decides the next step. A pure function that covers every combination of desired and observed state. */
export function makePlan(desired: Desired, observed: Observed, limits: TimeLimits): Plan {
  if (observed.state === 'unreachable') return planUnreachable(desired, limits)
  if (desired.destroyed) return planRemoval(desired, observed)
  if (isFinal(desired.status)) return planFinal(desired, observed)
  const planned = planRestart(desired, observed, limits)
  if (planned) return planned
  return shouldRun(desired) ? planRunning(desired, observed, limits) : planStopped(desired, observed)
}

function shouldRun({ targetState, granted }: Desired): boolean {
  return targetState === 'running' && granted
}

/**
 * Only retries are possible. A destroyed or ended instance is retried too: its container may still run, and is stopped
 * or removed when the machine is back. An instance survives an outage that is shorter than the grace period.
 */
function planUnreachable({ destroyed, status, refused, unreachableMs }: Desired, { offlineGraceMs }: TimeLimits): Plan {
  if (destroyed || isFinal(status)) return { steps: [], status, settled: false }
  // The reason must keep that the machine refused a step: see `hasEndedWhileStopping`.
  const reason = status === 'loading' && refused ? machineError : hostUnreachable
  if (unreachableMs < offlineGraceMs) return { steps: [], status, reason, settled: false }
  return { steps: [], status: 'offline', reason: hostOffline(unreachableMs), settled: false }
}

function planRemoval({ status }: Desired, { state }: ReachableObserved): Plan {
  return state === 'absent' ? { steps: [], status, settled: true } : { steps: ['remove'], status, settled: false }
}

/** An ended instance never runs again. If its machine comes back with a running container, the container is stopped. */
function planFinal({ status }: Desired, { state }: ReachableObserved): Plan {
  if (state === 'starting' || state === 'running') return { steps: ['stop'], status, settled: false }
  return { steps: [], status, settled: state !== 'stopping' }
}

/**
 * A reboot first stops the container, and a recycle first removes it. This progress is recorded before anything starts,
 * so that no step repeats after a crash of the gateway. Undefined if nothing of the restart is left.
 */
function planRestart(desired: Desired, observed: ReachableObserved, limits: TimeLimits): Plan | undefined {
  const { restart } = desired
  if (restart !== 'reboot' && restart !== 'recycle') return undefined
  // A reboot of a stopped instance is done: its next start is all it needs.
  if (restart === 'reboot' && !shouldRun(desired)) return { ...planStopped(desired, observed), restart: null }
  if (
    shouldRun(desired) &&
    (hasLoadTimedOut(desired, limits) || (isUsingGpus(observed) && hasStopTimedOut(desired, limits)))
  )
    return timedOutPlan(limits)
  const reason = restart === 'recycle' ? recycling : rebooting
  const stopping: Plan = { steps: [], status: 'stopping', reason, settled: false }
  if (observed.state === 'starting' || observed.state === 'running') return { ...stopping, steps: ['stop'] }
  if (observed.state === 'stopping') return stopping
  return restart === 'recycle' ? planRecycle(desired, observed, stopping) : planReboot(desired, observed, stopping)
}

function planRecycle(desired: Desired, { state }: ReachableObserved, stopping: Plan): Plan {
  const down: Plan = { ...stopping, ...(shouldRun(desired) ? { status: 'loading' } : idleStatus(desired)) }
  return state === 'absent' ? { ...down, restart: 'anew' } : { ...down, steps: ['remove'] }
}

function planReboot({ status }: Desired, { state }: ReachableObserved, stopping: Plan): Plan | undefined {
  if (state === 'absent' || state === 'failed') return undefined
  // Recorded as stopping if it was running: if the container exits now, `hasEndedWhileStopping` must hold.
  return { ...stopping, status: status === 'running' ? 'stopping' : status, restart: null }
}

function planRunning(desired: Desired, observed: ReachableObserved, limits: TimeLimits): Plan {
  const hasTimedOut = hasLoadTimedOut(desired, limits)
  const loading = (steps: DriverStep[], reason: Reason): Plan => ({ steps, status: 'loading', reason, settled: false })
  const loadOrTimeOut = (steps: DriverStep[], reason: Reason) =>
    hasTimedOut ? timedOutPlan(limits) : loading(steps, reason)
  // Every start is tried at least once, even if no pass ran for a long time.
  const startOrTimeOut = (container: { sshKeys: string[] }) =>
    (desired.refused ? loadOrTimeOut : loading)(startSteps(desired, container), starting)
  switch (observed.state) {
    case 'absent':
      return isContainerExpected(desired) ? endedPlan('unknown', containerLost) : loadOrTimeOut(['ensure'], pulling)
    case 'preparing':
      return loadOrTimeOut([], pulling)
    case 'starting':
      // On a timeout, the next pass stops the container.
      return loadOrTimeOut([], starting)
    case 'prepared':
    case 'stopped':
      return startOrTimeOut(observed)
    case 'running': {
      const hasItsKeys = !hasOtherKeys(desired, observed)
      const runs = { steps: hasItsKeys ? [] : ['setSshKeys' as const], status: 'running' as const, reason: started }
      return { ...runs, settled: hasItsKeys, ...(desired.restart && { restart: null }) }
    }
    case 'stopping':
      if (hasStopTimedOut(desired, limits)) return timedOutPlan(limits)
      return { steps: [], status: 'stopping', reason: restarting, settled: false }
    case 'exited':
      return hasEndedWhileStopping(desired) ? startOrTimeOut(observed) : endedPlan('exited', exited(observed.exitCode))
    case 'failed':
      return endedPlan('exited', observed)
  }
}

/** An instance holds its GPUs while it loads, free of charge, and while it stops. Neither may last forever. */
function hasLoadTimedOut({ status, loadingMs }: Desired, { startTimeoutMs }: TimeLimits): boolean {
  return status === 'loading' && loadingMs >= startTimeoutMs
}

function hasStopTimedOut({ status, stoppingMs }: Desired, { startTimeoutMs }: TimeLimits): boolean {
  return status === 'stopping' && stoppingMs >= startTimeoutMs
}

function timedOutPlan({ startTimeoutMs }: TimeLimits): Plan {
  return endedPlan('exited', startTimeout(startTimeoutMs))
}

/** The container of an instance that has run must exist, unless a recycle removed it. */
function isContainerExpected({ hasRun, restart }: Desired): boolean {
  return hasRun && restart !== 'anew'
}

/** A container that exits while it is to stop counts as stopped and may start again, even after a refused start. */
function hasEndedWhileStopping({ status, refused }: Desired): boolean {
  return ['stopped', 'stopping', 'scheduling'].includes(status) || (status === 'loading' && refused)
}

/** Sets keys before the start: a removed key must not log in, not even while the container starts. */
function startSteps(desired: Desired, container: { sshKeys: string[] }): DriverStep[] {
  return [hasOtherKeys(desired, container) ? 'setSshKeys' : 'start']
}

function hasOtherKeys(desired: Desired, container: { sshKeys: string[] }): boolean {
  return desired.sshKeys !== null && !areSameKeys(desired.sshKeys, container.sshKeys)
}

function planStopped(desired: Desired, observed: ReachableObserved): Plan {
  const { status, reason } = idleStatus(desired)
  switch (observed.state) {
    case 'absent':
      return isContainerExpected(desired)
        ? endedPlan('unknown', containerLost)
        : { steps: [], status, reason, settled: true }
    case 'starting':
    case 'running':
      return {
        steps: ['stop'],
        status: 'stopping',
        reason: reason ?? stopReasonOf(desired.targetReason),
        settled: false,
      }
    case 'stopping':
      return { steps: [], status: 'stopping', reason: reason ?? stopReasonOf(desired.targetReason), settled: false }
    case 'failed':
      return endedPlan('exited', observed)
    case 'preparing':
      // Not settled, because the pull will succeed or fail.
      return { steps: [], status, reason, settled: false }
    case 'prepared':
    case 'stopped':
    case 'exited':
      return { steps: [], status, reason, settled: true }
  }
}

/** The status of an instance that must not run: it waits for GPUs, or its target state is stopped. */
function idleStatus({ targetState, targetReason, interruptible, hasRun, status }: Desired): {
  status: InstanceStatus
  reason: Reason | undefined
} {
  if (targetState === 'running')
    return { status: 'scheduling', reason: interruptible && hasRun ? outbid : waitingForGpus }
  return status === 'created' && !hasRun
    ? { status, reason: undefined }
    : { status: 'stopped', reason: stopReasonOf(targetReason) }
}

function endedPlan(status: InstanceStatus, { code, message, exitCode }: Reason): Plan {
  return {
    steps: [],
    status,
    reason: { code, message, ...(exitCode === undefined ? {} : { exitCode }) },
    settled: true,
  }
}
