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

/** What is wished of an instance, and what was last written of it. */
export type Desired = {
  targetState: TargetState
  /** Why that was changed last; null while it is as it was rented. */
  targetReason: string | null
  /** Whether the market gave it its GPUs. */
  granted: boolean
  interruptible: boolean
  destroyed: boolean
  status: InstanceStatus
  hasRun: boolean
  /** Its machine could not do what it was last told. */
  refused: boolean
  /** How it is to be started anew; null where it is not. */
  restart: Restart | null
  /** The public keys that are to log in; null where they stay as they are. */
  sshKeys: string[] | null
  /** For how long its machine has not answered, it has been loading, and it was to be down; 0 where that is not so. */
  unreachableMs: number
  loadingMs: number
  stoppingMs: number
}

/** How long is waited for what may never come: for a container to come up, and for a machine to answer again. */
export type TimeLimits = { startTimeoutMs: number; offlineGraceMs: number }

export type DriverStep = 'ensure' | 'setSshKeys' | 'start' | 'stop' | 'remove'

/**
 * What to do next and what to write. No steps, and `settled`: nothing is to be done until somebody wishes otherwise.
 * `restart` is what is left of one that was asked for; what was, where it is absent.
 */
export type Plan = {
  steps: DriverStep[]
  status: InstanceStatus
  reason?: Reason | undefined
  settled: boolean
  restart?: Restart | null
}

type ReachableObserved = Exclude<Observed, { state: 'unreachable' }>

/** From what is wished and what is seen to what is done. It asks nobody, and has an answer for everything. */
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
 * Nothing can be done but to ask again, also of what is destroyed or has ended: it may still run there, and is stopped
 * or removed when its machine is back. A machine that is away for a moment costs nobody his instance.
 */
function planUnreachable({ destroyed, status, refused, unreachableMs }: Desired, { offlineGraceMs }: TimeLimits): Plan {
  if (destroyed || isFinal(status)) return { steps: [], status, settled: false }
  // That it was refused must not be forgotten meanwhile: see what has exited below.
  const reason = status === 'loading' && refused ? machineError : hostUnreachable
  if (unreachableMs < offlineGraceMs) return { steps: [], status, reason, settled: false }
  return { steps: [], status: 'offline', reason: hostOffline(unreachableMs), settled: false }
}

function planRemoval({ status }: Desired, { state }: ReachableObserved): Plan {
  return state === 'absent' ? { steps: [], status, settled: true } : { steps: ['remove'], status, settled: false }
}

/** It never runs again. If it does all the same, because its machine came back, it is stopped. */
function planFinal({ status }: Desired, { state }: ReachableObserved): Plan {
  if (state === 'starting' || state === 'running') return { steps: ['stop'], status, settled: false }
  return { steps: [], status, settled: state !== 'stopping' }
}

/**
 * What is to be started anew is down first, and what is to be made anew is gone. That it was is written before anything
 * starts, so that nothing is done twice when a gateway dies. Undefined where nothing of it is left to be done.
 */
function planRestart(desired: Desired, observed: ReachableObserved, limits: TimeLimits): Plan | undefined {
  const { restart } = desired
  if (restart !== 'reboot' && restart !== 'recycle') return undefined
  // Nothing is left of a reboot of what is to be down: when it is started again, that is all.
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
  // Called so, unless it was down before: what ended meanwhile by itself ended while it was to be stopped.
  return { ...stopping, status: status === 'running' ? 'stopping' : status, restart: null }
}

function planRunning(desired: Desired, observed: ReachableObserved, limits: TimeLimits): Plan {
  const hasTimedOut = hasLoadTimedOut(desired, limits)
  const loading = (steps: DriverStep[], reason: Reason): Plan => ({ steps, status: 'loading', reason, settled: false })
  const loadOrTimeOut = (steps: DriverStep[], reason: Reason) =>
    hasTimedOut ? timedOutPlan(limits) : loading(steps, reason)
  // What can start is tried at least once, also when nobody looked for long.
  const startOrTimeOut = (container: { sshKeys: string[] }) =>
    (desired.refused ? loadOrTimeOut : loading)(startSteps(desired, container), starting)
  switch (observed.state) {
    case 'absent':
      return isContainerExpected(desired) ? endedPlan('unknown', containerLost) : loadOrTimeOut(['ensure'], pulling)
    case 'preparing':
      return loadOrTimeOut([], pulling)
    case 'starting':
      // When that is too late, it is looked at once more, and stopped.
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

/** What is to run has its GPUs meanwhile, and loads for nothing: neither that nor going down goes on for ever. */
function hasLoadTimedOut({ status, loadingMs }: Desired, { startTimeoutMs }: TimeLimits): boolean {
  return status === 'loading' && loadingMs >= startTimeoutMs
}

function hasStopTimedOut({ status, stoppingMs }: Desired, { startTimeoutMs }: TimeLimits): boolean {
  return status === 'stopping' && stoppingMs >= startTimeoutMs
}

function timedOutPlan({ startTimeoutMs }: TimeLimits): Plan {
  return endedPlan('exited', startTimeout(startTimeoutMs))
}

/** What has run should be there, unless it was removed to be made anew. */
function isContainerExpected({ hasRun, restart }: Desired): boolean {
  return hasRun && restart !== 'anew'
}

/** What ended while it was to be stopped, was stopped: it can start again, also after its machine refused that once. */
function hasEndedWhileStopping({ status, refused }: Desired): boolean {
  return ['stopped', 'stopping', 'scheduling'].includes(status) || (status === 'loading' && refused)
}

/** A key that was taken away must not log in, not even while the container comes up. */
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
      // It is there sooner or later, or cannot be had.
      return { steps: [], status, reason, settled: false }
    case 'prepared':
    case 'stopped':
    case 'exited':
      return { steps: [], status, reason, settled: true }
  }
}

/** What an instance is called that does not run and is not to: for want of GPUs, or because nobody wants it to. */
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
