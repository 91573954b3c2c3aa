import { isUsingGpus, type Observed } from '../domain/instances/containers.ts'
import { type InstanceStatus, isFinal, type Restart } from '../domain/instances/states.ts'
import type { Reason } from '../domain/reasons.ts'
import {
  canStartAfterExit,
  hasLoadTimedOut,
  hasOtherKeys,
  hasStopTimedOut,
  type InstanceState,
  isContainerExpected,
  shouldRun,
  type TimeLimits,
} from './instance-state.ts'
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

export type ProviderStep = 'ensure' | 'setSshKeys' | 'start' | 'stop' | 'remove'

/**
 * The next step, null if there is none, and what to record. A plan is `settled` if it has no step and awaits no other
 * state of the container. Later passes only check that the container is still as it should be, so they come less often:
 * see `findingOf`. `restart` is the remaining part of a restart; absent if unchanged.
 */
export type Plan = {
  step: ProviderStep | null
  status: InstanceStatus
  reason?: Reason | undefined
  settled: boolean
  restart?: Restart | null
}

type ReachableObserved = Exclude<Observed, { state: 'unreachable' }>

/** Decides the next step. A pure function that covers every combination of instance state and observation. */
export function makePlan(instance: InstanceState, observed: Observed, limits: TimeLimits): Plan {
  if (observed.state === 'unreachable') return planUnreachable(instance, limits)
  if (instance.destroyed) return planRemoval(instance, observed)
  if (isFinal(instance.status)) return planFinal(instance, observed)
  const planned = planRestart(instance, observed, limits)
  if (planned) return planned
  return shouldRun(instance) ? planRunning(instance, observed, limits) : planStopped(instance, observed)
}

/**
 * Only retries are possible. A destroyed or ended instance is retried too: its container may still run, and is stopped
 * or removed when the machine is back. An instance survives an outage that is shorter than the grace period.
 */
function planUnreachable(
  { destroyed, status, refused, unreachableMs }: InstanceState,
  { offlineGraceMs }: TimeLimits,
): Plan {
  if (destroyed || isFinal(status)) return { step: null, status, settled: false }
  // `leaseDue` derives `refused` from the reason `MACHINE_ERROR`, so that reason must stay.
  const reason = status === 'loading' && refused ? machineError : hostUnreachable
  if (unreachableMs < offlineGraceMs) return { step: null, status, reason, settled: false }
  return { step: null, status: 'offline', reason: hostOffline(unreachableMs), settled: false }
}

function planRemoval({ status }: InstanceState, { state }: ReachableObserved): Plan {
  return state === 'absent' ? { step: null, status, settled: true } : { step: 'remove', status, settled: false }
}

/** An ended instance never runs again. If its machine comes back with a running container, the container is stopped. */
function planFinal({ status }: InstanceState, { state }: ReachableObserved): Plan {
  if (state === 'starting' || state === 'running') return { step: 'stop', status, settled: false }
  return { step: null, status, settled: state !== 'stopping' }
}

/**
 * A reboot first stops the container, and a recycle first removes it. This progress is recorded before anything starts,
 * so that no step repeats after a crash of the gateway. Undefined if nothing of the restart is left.
 */
function planRestart(instance: InstanceState, observed: ReachableObserved, limits: TimeLimits): Plan | undefined {
  const { restart } = instance
  if (restart !== 'reboot' && restart !== 'recycle') return undefined
  // A reboot of a stopped instance is done: its next start is all it needs.
  if (restart === 'reboot' && !shouldRun(instance)) return { ...planStopped(instance, observed), restart: null }
  if (
    shouldRun(instance) &&
    (hasLoadTimedOut(instance, limits) || (isUsingGpus(observed) && hasStopTimedOut(instance, limits)))
  )
    return timedOutPlan(limits)
  const reason = restart === 'recycle' ? recycling : rebooting
  const stopping: Plan = { step: null, status: 'stopping', reason, settled: false }
  if (observed.state === 'starting' || observed.state === 'running') return { ...stopping, step: 'stop' }
  if (observed.state === 'stopping') return stopping
  return restart === 'recycle' ? planRecycle(instance, observed, stopping) : planReboot(instance, observed, stopping)
}

function planRecycle(instance: InstanceState, { state }: ReachableObserved, stopping: Plan): Plan {
  const down: Plan = { ...stopping, ...(shouldRun(instance) ? { status: 'loading' } : idleStatus(instance)) }
  return state === 'absent' ? { ...down, restart: 'anew' } : { ...down, step: 'remove' }
}

function planReboot({ status }: InstanceState, { state }: ReachableObserved, stopping: Plan): Plan | undefined {
  if (state === 'absent' || state === 'failed') return undefined
  // Recorded as stopping if it was running: if the container exits now, `canStartAfterExit` must hold.
  return { ...stopping, status: status === 'running' ? 'stopping' : status, restart: null }
}

function planRunning(instance: InstanceState, observed: ReachableObserved, limits: TimeLimits): Plan {
  const hasTimedOut = hasLoadTimedOut(instance, limits)
  const loading = (step: Plan['step'], reason: Reason): Plan => ({ step, status: 'loading', reason, settled: false })
  const loadOrTimeOut = (step: Plan['step'], reason: Reason) =>
    hasTimedOut ? timedOutPlan(limits) : loading(step, reason)
  // Every start is tried at least once, even if no pass ran for a long time.
  const startOrTimeOut = (container: { sshKeys: string[] }) =>
    (instance.refused ? loadOrTimeOut : loading)(startStep(instance, container), starting)
  switch (observed.state) {
    case 'absent':
      return isContainerExpected(instance) ? endedPlan('unknown', containerLost) : loadOrTimeOut('ensure', pulling)
    case 'preparing':
      return loadOrTimeOut(null, pulling)
    case 'starting':
      // On a timeout, the next pass stops the container.
      return loadOrTimeOut(null, starting)
    case 'prepared':
    case 'stopped':
      return startOrTimeOut(observed)
    case 'running': {
      const hasItsKeys = !hasOtherKeys(instance, observed)
      const runs = { step: hasItsKeys ? null : ('setSshKeys' as const), status: 'running' as const, reason: started }
      return { ...runs, settled: hasItsKeys, ...(instance.restart && { restart: null }) }
    }
    case 'stopping':
      if (hasStopTimedOut(instance, limits)) return timedOutPlan(limits)
      return { step: null, status: 'stopping', reason: restarting, settled: false }
    case 'exited':
      return canStartAfterExit(instance) ? startOrTimeOut(observed) : endedPlan('exited', exited(observed.exitCode))
    case 'failed':
      return endedPlan('exited', observed)
  }
}

function timedOutPlan({ startTimeoutMs }: TimeLimits): Plan {
  return endedPlan('exited', startTimeout(startTimeoutMs))
}

/** Sets keys before the start: a removed key must not log in, not even while the container starts. */
function startStep(instance: InstanceState, container: { sshKeys: string[] }): ProviderStep {
  return hasOtherKeys(instance, container) ? 'setSshKeys' : 'start'
}

function planStopped(instance: InstanceState, observed: ReachableObserved): Plan {
  const { status, reason } = idleStatus(instance)
  switch (observed.state) {
    case 'absent':
      return isContainerExpected(instance)
        ? endedPlan('unknown', containerLost)
        : { step: null, status, reason, settled: true }
    case 'starting':
    case 'running':
    case 'stopping': {
      const step = observed.state === 'stopping' ? null : 'stop'
      return { step, status: 'stopping', reason: reason ?? stopReasonOf(instance), settled: false }
    }
    case 'failed':
      return endedPlan('exited', observed)
    case 'preparing':
      // Not settled, because the pull will succeed or fail.
      return { step: null, status, reason, settled: false }
    case 'prepared':
    case 'stopped':
    case 'exited':
      return { step: null, status, reason, settled: true }
  }
}

/** The status of an instance that must not run: it waits for GPUs, or its target state is stopped. */
function idleStatus(instance: InstanceState): {
  status: InstanceStatus
  reason: Reason | undefined
} {
  const { targetState, interruptible, hasRun, status } = instance
  if (targetState === 'running')
    return { status: 'scheduling', reason: interruptible && hasRun ? outbid : waitingForGpus }
  return status === 'created' && !hasRun
    ? { status, reason: undefined }
    : { status: 'stopped', reason: stopReasonOf(instance) }
}

/**
 * Ends the instance. Settled, even if the container still runs: `recordFinding` makes another pass due at once, and
 * `planFinal` stops the container in it.
 */
function endedPlan(status: InstanceStatus, { code, message, exitCode }: Reason): Plan {
  return {
    step: null,
    status,
    reason: { code, message, ...(exitCode === undefined ? {} : { exitCode }) },
    settled: true,
  }
}
