import type { Truth } from '../domain/containers.ts'
import { type InstanceStatus, isFinal, type Reason, type TargetState } from '../domain/instances.ts'
import { areSameKeys } from '../domain/ssh-keys.ts'

/** What is wished of an instance, and what was last written of it. */
export type Wish = {
  targetState: TargetState
  /** Whether the market gave it its GPUs. */
  granted: boolean
  interruptible: boolean
  destroyed: boolean
  status: InstanceStatus
  hasRun: boolean
  /** The public keys that are to log in; null where they stay as they are. */
  sshKeys: string[] | null
}

export type Step = 'ensure' | 'authorise' | 'start' | 'stop' | 'remove'

/** What to do next and what to write. No steps, and `settled`: nothing is to be done until somebody wishes otherwise. */
export type Plan = { steps: Step[]; status: InstanceStatus; reason?: Reason | undefined; settled: boolean }

/** From what is wished and what is seen to what is done. It asks nobody, and has an answer for everything. */
export function plan(wish: Wish, truth: Truth): Plan {
  if (wish.destroyed) return planRemoval(wish, truth)
  if (isFinal(wish.status)) return planFinal(wish, truth)
  return wish.targetState === 'running' && wish.granted ? planRunning(wish, truth) : planStopped(wish, truth)
}

function planRemoval({ status }: Wish, { state }: Truth): Plan {
  return state === 'absent' ? { steps: [], status, settled: true } : { steps: ['remove'], status, settled: false }
}

/** It never runs again. If it does all the same, because its machine came back, it is stopped. */
function planFinal({ status }: Wish, { state }: Truth): Plan {
  if (state === 'starting' || state === 'running') return { steps: ['stop'], status, settled: false }
  return { steps: [], status, settled: state !== 'stopping' }
}

function planRunning(wish: Wish, truth: Truth): Plan {
  const { status, hasRun } = wish
  switch (truth.state) {
    case 'absent':
      return hasRun ? end('unknown', lost) : { steps: ['ensure'], status: 'loading', settled: false }
    case 'preparing':
    case 'starting':
      return { steps: [], status: 'loading', settled: false }
    case 'prepared':
    case 'stopped':
      return { steps: [nextToStart(wish, truth)], status: 'loading', settled: false }
    case 'running':
      return hasOtherKeys(wish, truth)
        ? { steps: ['authorise'], status: 'running', settled: false }
        : { steps: [], status: 'running', settled: true }
    case 'stopping':
      return { steps: [], status: 'stopping', settled: false }
    case 'exited':
      // What ended while it was to be stopped, was stopped: it can start again.
      return status === 'stopped' || status === 'stopping' || status === 'scheduling'
        ? { steps: [nextToStart(wish, truth)], status: 'loading', settled: false }
        : end('exited', exited(truth.exitCode))
    case 'failed':
      return end('exited', truth)
  }
}

/** A key that was taken away must not log in, not even while the container comes up. */
function nextToStart(wish: Wish, container: { sshKeys: string[] }): Step {
  return hasOtherKeys(wish, container) ? 'authorise' : 'start'
}

function hasOtherKeys(wish: Wish, container: { sshKeys: string[] }): boolean {
  return wish.sshKeys !== null && !areSameKeys(wish.sshKeys, container.sshKeys)
}

function planStopped(wish: Wish, truth: Truth): Plan {
  const { status, reason } = rest(wish)
  switch (truth.state) {
    case 'absent':
      return wish.hasRun ? end('unknown', lost) : { steps: [], status, reason, settled: true }
    case 'starting':
    case 'running':
      return { steps: ['stop'], status: 'stopping', reason, settled: false }
    case 'stopping':
      return { steps: [], status: 'stopping', reason, settled: false }
    case 'failed':
      return end('exited', truth)
    case 'preparing':
    case 'prepared':
    case 'stopped':
    case 'exited':
      return { steps: [], status, reason, settled: true }
  }
}

/** What an instance is called that does not run and is not to: for want of GPUs, or because nobody wants it to. */
function rest({ targetState, interruptible, hasRun, status }: Wish): {
  status: InstanceStatus
  reason: Reason | undefined
} {
  if (targetState === 'running') return { status: 'scheduling', reason: interruptible && hasRun ? outbid : waiting }
  return status === 'created' && !hasRun ? { status, reason: undefined } : { status: 'stopped', reason: asked }
}

function end(status: InstanceStatus, { code, message, exitCode }: Reason): Plan {
  return {
    steps: [],
    status,
    reason: { code, message, ...(exitCode === undefined ? {} : { exitCode }) },
    settled: true,
  }
}

const asked: Reason = { code: 'USER_REQUEST', message: 'It was asked to stop.' }
const outbid: Reason = {
  code: 'OUTBID',
  message: 'A higher bid or a rental on demand has its GPUs; it resumes when they are free.',
}
const lost: Reason = { code: 'CONTAINER_LOST', message: 'Its machine does not have its container any more.' }
/** The market gave it its GPUs, or will; a container that still runs on them must go first. */
export const waiting: Reason = {
  code: 'WAITING_FOR_GPUS',
  message: 'Its GPUs are in use; it starts when they are free.',
}

function exited(exitCode: number): Reason {
  return { code: 'EXITED', message: `Its container ended by itself, with exit code ${exitCode}.`, exitCode }
}
