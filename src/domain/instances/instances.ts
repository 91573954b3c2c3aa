import type { Port, VolumeMount } from '../launch/env.ts'
import type { Launch } from '../launch/launch.ts'
import type { Block, GpuModel, Machine } from '../machines/machines.ts'
import { type InstanceStatus, isFinal, type Restart, type TargetState } from './states.ts'

/** Whether an instance wants its GPUs: then the market gives them to it, unless others come first. */
export function wantsGpus(instance: { targetState: TargetState; status: InstanceStatus; destroyed: boolean }): boolean {
  return instance.targetState === 'running' && !instance.destroyed && !isFinal(instance.status)
}

/** Whether an instance is to run, and waits for its GPUs. */
export function isWaitingForGpus({ granted, destroyedAt, ...state }: Instance): boolean {
  return !granted && wantsGpus({ ...state, destroyed: destroyedAt !== null })
}

/** Why a status is what it is. The code is for programs, the message for people. */
export type Reason = { code: ReasonCode; message: string; exitCode?: number }
export type ReasonCode = (typeof reasonCodes)[number]
export const reasonCodes = [
  'USER_REQUEST',
  'WAITING_FOR_GPUS',
  'OUTBID',
  'PULLING',
  'STARTING',
  'STARTED',
  'REBOOTING',
  'RECYCLING',
  'MACHINE_ERROR',
  'HOST_UNREACHABLE',
  'IMAGE_PULL_FAILED',
  'START_FAILED',
  'START_TIMEOUT',
  'EXITED',
  'HOST_OFFLINE',
  'CONTAINER_LOST',
  'RENTAL_ENDED',
  'NO_CREDIT',
  'SPEND_LIMIT',
  'DEBT',
  'SCHEDULE',
  'COST_LIMIT',
] as const

/** Why somebody's wish for an instance was written, or one of Berth itself. */
export type TargetReason = Extract<
  ReasonCode,
  'USER_REQUEST' | 'NO_CREDIT' | 'SPEND_LIMIT' | 'SCHEDULE' | 'COST_LIMIT' | 'DEBT' | 'RENTAL_ENDED'
>

/** A public port that leads into an instance: what became of the wish. */
export type PortBinding = Port

/** Where an SSH server listens that leads to any instance, by the name that is logged in with. */
export type SshProxy = { host: string; port: number }

/** What a launch keeps on the row: the rest has columns of its own. */
export type LaunchConfig = Omit<
  Launch,
  'diskMb' | 'label' | 'targetState' | 'vm' | 'registry' | 'volumes' | 'newVolumes'
>

/** A rental, with the machine that it is on. Rates are nano-dollars per hour. */
export type Instance = Block & {
  id: bigint
  accountId: number
  machineId: number
  offerId: bigint
  idempotencyKey: string | null
  label: string | null
  vm: boolean
  /** The template that it began with, and the hash by which it was named then. */
  templateId: number | null
  templateHash: string | null
  launch: LaunchConfig
  diskMb: number
  interruptible: boolean
  computeNanos: bigint
  storageNanos: bigint
  diskNanos: bigint
  targetState: TargetState
  status: InstanceStatus
  reasonCode: string | null
  reasonMessage: string | null
  exitCode: number | null
  /** What is left to be done of a restart. */
  restart: Restart | null
  statusChangedAt: Date
  createdAt: Date
  startedAt: Date | null
  endsAt: Date
  /** What its renter arranged. */
  stopAt: Date | null
  stopAtCostNanos: bigint | null
  destroyAt: Date | null
  destroyStoppedMs: bigint | null
  destroyedAt: Date | null
  /** When nothing was left of it on its machine. */
  removedAt: Date | null
  portBindings: PortBinding[]
  /** None when it is destroyed, although its container may have them for a moment yet. */
  volumes: (VolumeMount & { sizeMb: number })[]
  /** Whether it has its GPUs. */
  granted: boolean
  /** Whether they cost something now. */
  charged: boolean
  /** Through which SSH goes in the modes for that; null where the operator runs none. */
  sshProxy: SshProxy | null
  /** When all this was so. */
  asOf: Date
  machine: Machine & { gpuModel: GpuModel }
}

export const instanceActions = ['start', 'stop', 'reboot', 'recycle', 'changeBid', 'destroy'] as const
export type InstanceAction = (typeof instanceActions)[number]
/** Whether an action can be asked for now; if not, why. */
type ActionAvailability = { action: InstanceAction; available: boolean; reason: string | null }

type ActionState = Pick<Instance, 'targetState' | 'status' | 'destroyedAt'>
type PricedActionState = ActionState & Pick<Instance, 'interruptible'>

export function availabilityOf(instance: PricedActionState): ActionAvailability[] {
  return instanceActions.map(action => {
    const reason = actionRefusal(action, instance)
    return { action, available: reason === null, reason }
  })
}

/** Why an action can't be done, or would change nothing; null where it can. */
export function actionRefusal(action: InstanceAction, instance: PricedActionState): string | null {
  return instance.destroyedAt ? 'It is destroyed.' : refusalRules[action](instance)
}

const refusalRules: Record<InstanceAction, (instance: PricedActionState) => string | null> = {
  start({ status, targetState }) {
    if (isFinal(status)) return finalStatusRefusal(status)
    return targetState === 'running' ? 'It is running, or about to.' : null
  },
  stop({ status, targetState }) {
    if (isFinal(status)) return `It is ${status}, and does not run.`
    return targetState === 'stopped' ? 'It is stopped, or about to be.' : null
  },
  reboot({ status, targetState }) {
    if (isFinal(status)) return finalStatusRefusal(status)
    if (status !== 'running') return `It is ${status}: only what runs can be rebooted.`
    return targetState === 'stopped' ? 'It is about to be stopped.' : null
  },
  recycle({ status }) {
    if (status === 'created') return 'It has no container yet.'
    return isFinal(status) ? finalStatusRefusal(status) : null
  },
  changeBid({ status, interruptible }) {
    if (!interruptible) return 'It is rented on demand, at a price that stays.'
    return isFinal(status) ? finalStatusRefusal(status) : null
  },
  destroy: () => null,
}

/** Why what has ended can't be done anything with but destroyed. */
export function finalStatusRefusal(status: InstanceStatus): string {
  return `It is ${status}, from where it never runs again: destroy it and rent anew.`
}

/** What one command asks of instances. An absent part stays as it is. */
export type InstanceChange = { targetState?: TargetState | undefined; label?: string | undefined }

/** What a change makes of an instance: what is written, nothing where it is so already, or why it can't be. */
export function decideChange(
  instance: ActionState & { label: string | null },
  { targetState, label }: InstanceChange,
): { changes: { targetState?: TargetState; label?: string | null } } | { refusal: string } {
  if (targetState === 'running' && isFinal(instance.status)) return { refusal: finalStatusRefusal(instance.status) }
  return {
    changes: {
      // What never runs again is as good as stopped.
      ...(targetState !== undefined && targetState !== instance.targetState && !isFinal(instance.status)
        ? { targetState }
        : {}),
      ...(label !== undefined && (label || null) !== instance.label ? { label: label || null } : {}),
    },
  }
}
