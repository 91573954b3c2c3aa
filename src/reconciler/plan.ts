import { areSameKeys } from '../domain/accounts/ssh-keys.ts'
import { isActive, type Truth } from '../domain/instances/containers.ts'
import type { Reason } from '../domain/instances/instances.ts'
import { type InstanceStatus, isFinal, type Restart, type TargetState } from '../domain/instances/states.ts'
import {
  exited,
  lost,
  neverUp,
  offline,
  outbid,
  pulling,
  rebooting,
  recycling,
  restarting,
  started,
  starting,
  stoppedFor,
  troubled,
  unreachable,
  waiting,
} from './reasons.ts'

/** What is wished of an instance, and what was last written of it. */
export type Wish = {
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
export type Limits = { startTimeoutMs: number; offlineGraceMs: number }

export type Step = 'ensure' | 'authorise' | 'start' | 'stop' | 'remove'

/**
 * What to do next and what to write. No steps, and `settled`: nothing is to be done until somebody wishes otherwise.
 * `restart` is what is left of one that was asked for; what was, where it is absent.
 */
export type Plan = {
  steps: Step[]
  status: InstanceStatus
  reason?: Reason | undefined
  settled: boolean
  restart?: Restart | null
}

type Seen = Exclude<Truth, { state: 'unreachable' }>

/** From what is wished and what is seen to what is done. It asks nobody, and has an answer for everything. */
export function plan(wish: Wish, truth: Truth, limits: Limits): Plan {
  if (truth.state === 'unreachable') return planUnseen(wish, limits)
  if (wish.destroyed) return planRemoval(wish, truth)
  if (isFinal(wish.status)) return planFinal(wish, truth)
  const planned = planRestart(wish, truth, limits)
  if (planned) return planned
  return isToRun(wish) ? planRunning(wish, truth, limits) : planStopped(wish, truth)
}

function isToRun({ targetState, granted }: Wish): boolean {
  return targetState === 'running' && granted
}

/**
 * Nothing can be done but to ask again, also of what is destroyed or has ended: it may still run there, and is stopped
 * or removed when its machine is back. A machine that is away for a moment costs nobody his instance.
 */
function planUnseen({ destroyed, status, refused, unreachableMs }: Wish, { offlineGraceMs }: Limits): Plan {
  if (destroyed || isFinal(status)) return { steps: [], status, settled: false }
  // That it was refused must not be forgotten meanwhile: see what has exited below.
  const reason = status === 'loading' && refused ? troubled : unreachable
  if (unreachableMs < offlineGraceMs) return { steps: [], status, reason, settled: false }
  return { steps: [], status: 'offline', reason: offline(unreachableMs), settled: false }
}

function planRemoval({ status }: Wish, { state }: Seen): Plan {
  return state === 'absent' ? { steps: [], status, settled: true } : { steps: ['remove'], status, settled: false }
}

/** It never runs again. If it does all the same, because its machine came back, it is stopped. */
function planFinal({ status }: Wish, { state }: Seen): Plan {
  if (state === 'starting' || state === 'running') return { steps: ['stop'], status, settled: false }
  return { steps: [], status, settled: state !== 'stopping' }
}

/**
 * What is to be started anew is down first, and what is to be made anew is gone. That it was is written before anything
 * starts, so that nothing is done twice when a gateway dies. Undefined where nothing of it is left to be done.
 */
function planRestart(wish: Wish, truth: Seen, limits: Limits): Plan | undefined {
  const { restart } = wish
  if (restart !== 'reboot' && restart !== 'recycle') return undefined
  // Nothing is left of a reboot of what is to be down: when it is started again, that is all.
  if (restart === 'reboot' && !isToRun(wish)) return { ...planStopped(wish, truth), restart: null }
  if (isToRun(wish) && (isLate(wish, limits) || (isActive(truth) && isStuck(wish, limits)))) return endLate(limits)
  const reason = restart === 'recycle' ? recycling : rebooting
  const going: Plan = { steps: [], status: 'stopping', reason, settled: false }
  if (truth.state === 'starting' || truth.state === 'running') return { ...going, steps: ['stop'] }
  if (truth.state === 'stopping') return going
  return restart === 'recycle' ? planAnew(wish, truth, going) : planAgain(wish, truth, going)
}

function planAnew(wish: Wish, { state }: Seen, going: Plan): Plan {
  const down: Plan = { ...going, ...(isToRun(wish) ? { status: 'loading' } : rest(wish)) }
  return state === 'absent' ? { ...down, restart: 'anew' } : { ...down, steps: ['remove'] }
}

function planAgain({ status }: Wish, { state }: Seen, going: Plan): Plan | undefined {
  if (state === 'absent' || state === 'failed') return undefined
  // Called so, unless it was down before: what ended meanwhile by itself ended while it was to be stopped.
  return { ...going, status: status === 'running' ? 'stopping' : status, restart: null }
}

function planRunning(wish: Wish, truth: Seen, limits: Limits): Plan {
  const late = isLate(wish, limits)
  const load = (steps: Step[], reason: Reason): Plan => ({ steps, status: 'loading', reason, settled: false })
  const toLoad = (steps: Step[], reason: Reason) => (late ? endLate(limits) : load(steps, reason))
  // What can start is tried at least once, also when nobody looked for long.
  const toStart = (container: { sshKeys: string[] }) =>
    (wish.refused ? toLoad : load)(nextToStart(wish, container), starting)
  switch (truth.state) {
    case 'absent':
      return isMissing(wish) ? end('unknown', lost) : toLoad(['ensure'], pulling)
    case 'preparing':
      return toLoad([], pulling)
    case 'starting':
      // When that is too late, it is looked at once more, and stopped.
      return toLoad([], starting)
    case 'prepared':
    case 'stopped':
      return toStart(truth)
    case 'running': {
      const known = !hasOtherKeys(wish, truth)
      const runs = { steps: known ? [] : ['authorise' as const], status: 'running' as const, reason: started }
      return { ...runs, settled: known, ...(wish.restart && { restart: null }) }
    }
    case 'stopping':
      if (isStuck(wish, limits)) return endLate(limits)
      return { steps: [], status: 'stopping', reason: restarting, settled: false }
    case 'exited':
      return endedWhileDown(wish) ? toStart(truth) : end('exited', exited(truth.exitCode))
    case 'failed':
      return end('exited', truth)
  }
}

/** What is to run has its GPUs meanwhile, and loads for nothing: neither that nor going down goes on for ever. */
function isLate({ status, loadingMs }: Wish, { startTimeoutMs }: Limits): boolean {
  return status === 'loading' && loadingMs >= startTimeoutMs
}

function isStuck({ status, stoppingMs }: Wish, { startTimeoutMs }: Limits): boolean {
  return status === 'stopping' && stoppingMs >= startTimeoutMs
}

function endLate({ startTimeoutMs }: Limits): Plan {
  return end('exited', neverUp(startTimeoutMs))
}

/** What has run should be there, unless it was removed to be made anew. */
function isMissing({ hasRun, restart }: Wish): boolean {
  return hasRun && restart !== 'anew'
}

/** What ended while it was to be stopped, was stopped: it can start again, also after its machine refused that once. */
function endedWhileDown({ status, refused }: Wish): boolean {
  return ['stopped', 'stopping', 'scheduling'].includes(status) || (status === 'loading' && refused)
}

/** A key that was taken away must not log in, not even while the container comes up. */
function nextToStart(wish: Wish, container: { sshKeys: string[] }): Step[] {
  return [hasOtherKeys(wish, container) ? 'authorise' : 'start']
}

function hasOtherKeys(wish: Wish, container: { sshKeys: string[] }): boolean {
  return wish.sshKeys !== null && !areSameKeys(wish.sshKeys, container.sshKeys)
}

function planStopped(wish: Wish, truth: Seen): Plan {
  const { status, reason } = rest(wish)
  switch (truth.state) {
    case 'absent':
      return isMissing(wish) ? end('unknown', lost) : { steps: [], status, reason, settled: true }
    case 'starting':
    case 'running':
      return { steps: ['stop'], status: 'stopping', reason: reason ?? stoppedFor(wish.targetReason), settled: false }
    case 'stopping':
      return { steps: [], status: 'stopping', reason: reason ?? stoppedFor(wish.targetReason), settled: false }
    case 'failed':
      return end('exited', truth)
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
function rest({ targetState, targetReason, interruptible, hasRun, status }: Wish): {
  status: InstanceStatus
  reason: Reason | undefined
} {
  if (targetState === 'running') return { status: 'scheduling', reason: interruptible && hasRun ? outbid : waiting }
  return status === 'created' && !hasRun
    ? { status, reason: undefined }
    : { status: 'stopped', reason: stoppedFor(targetReason) }
}

function end(status: InstanceStatus, { code, message, exitCode }: Reason): Plan {
  return {
    steps: [],
    status,
    reason: { code, message, ...(exitCode === undefined ? {} : { exitCode }) },
    settled: true,
  }
}
