import type { Port, VolumeMount } from '../launch/env.ts'
import type { Launch } from '../launch/launch.ts'
import type { Block, GpuModel, Machine } from '../machines/machines.ts'
import { type Reason, type ReasonCode, reasonMessages } from '../reasons.ts'
import type { NotebookProxy } from './notebook.ts'
import { type InstanceStatus, isFinal, type Restart, type TargetState } from './states.ts'

/** Whether an instance claims its GPUs on the market. A claim gets them only if no other claim has precedence. */
export function wantsGpus(instance: { targetState: TargetState; status: InstanceStatus; destroyed: boolean }): boolean {
  return instance.targetState === 'running' && !instance.destroyed && !isFinal(instance.status)
}

export function isWaitingForGpus({
  holdsGpus,
  destroyedAt,
  ...state
}: ActionState & Pick<Instance, 'holdsGpus'>): boolean {
  return !holdsGpus && wantsGpus({ ...state, destroyed: destroyedAt !== null })
}

/** Why a renter, an operator or Berth itself set a target state or destroyed an instance. */
export type TargetReason = Extract<
  ReasonCode,
  | 'USER_REQUEST'
  | 'OPERATOR_REQUEST'
  | 'ACCOUNT_DISABLED'
  | 'NO_CREDIT'
  | 'SPEND_LIMIT'
  | 'SCHEDULE'
  | 'COST_LIMIT'
  | 'IDLE'
  | 'DEBT'
  | 'RENTAL_ENDED'
  | 'REPLACED'
  | 'NOT_REPLACED'
>

/** A public port that leads into an instance. The host port may differ from the requested one. */
export type PortBinding = Port

/** The address of an SSH server that forwards to an instance. The user name of the login selects the instance. */
export type SshProxy = { host: string; port: number }

/** The part of a launch in the JSON column `launch`. The rest has columns and tables of its own. */
export type LaunchConfig = Omit<
  Launch,
  'diskMb' | 'label' | 'targetState' | 'vm' | 'registry' | 'volumes' | 'newVolumes'
>

/** A rental, with its machine. Rates are nano-dollars per hour. */
export type Instance = Block & {
  id: bigint
  accountId: number
  machineId: number
  offerId: bigint
  idempotencyKey: string | null
  label: string | null
  vm: boolean
  /** The template of the launch, and the hash that named it at that time. */
  templateId: number | null
  templateHash: string | null
  launch: LaunchConfig
  diskMb: number
  interruptible: boolean
  gpuPriceNanos: bigint
  /** Nano-dollars per GB of disk per month of 720 hours, at the time of rental. `diskNanos` is the resulting rate. */
  diskPricePerGbMonthNanos: bigint
  diskNanos: bigint
  targetState: TargetState
  status: InstanceStatus
  reasonCode: string | null
  reasonMessage: string | null
  exitCode: number | null
  /** The restart under way; null when there is none. */
  restart: Restart | null
  statusChangedAt: Date
  createdAt: Date
  startedAt: Date | null
  endsAt: Date
  /** The renter's policy. A field that is not set is null. */
  stopAt: Date | null
  stopAtCostNanos: bigint | null
  destroyAt: Date | null
  destroyStoppedMs: bigint | null
  idleGpuPercent: number | null
  idleSeconds: number | null
  /** Until when it must run to not be replaced, and by how many more rentals at most. */
  replaceSeconds: number | null
  replaceAttempts: number | null
  /** The instance that it replaces, and the one that replaces it. */
  replacesId: bigint | null
  replacedById: bigint | null
  destroyedAt: Date | null
  /** When its container was gone from the machine. */
  removedAt: Date | null
  portBindings: PortBinding[]
  /** Empty once the instance is destroyed, although its container may keep them for a moment. */
  volumes: (VolumeMount & { sizeMb: number })[]
  /** Whether the market gave the instance its GPUs. */
  holdsGpus: boolean
  /** Whether its GPUs are charged now. */
  charged: boolean
  /** The lowest bid that wins its GPUs, or null if none does. Absent unless a stream read it. */
  minimumBidNanos?: bigint | null
  /** The SSH proxy of the proxy modes; null when the operator runs none. */
  sshProxy: SshProxy | null
  /** Where the gateways serve notebooks; null when they serve none. */
  notebookProxy: NotebookProxy | null
  /** The time at which these values were read. */
  asOf: Date
  machine: Machine & { gpuModel: GpuModel }
}

const instanceActions = ['start', 'stop', 'reboot', 'recycle', 'updateBid', 'destroy'] as const
export type InstanceAction = (typeof instanceActions)[number]
type ActionAvailability = { action: InstanceAction; available: boolean; reason: Reason | null }

type ActionState = Pick<Instance, 'targetState' | 'status' | 'destroyedAt'>
type PricedActionState = ActionState & Pick<Instance, 'interruptible'>

export function availabilityOf(instance: PricedActionState): ActionAvailability[] {
  return instanceActions.map(action => {
    const reason = unavailableReason(action, instance)
    return { action, available: reason === null, reason }
  })
}

/** Why an action is impossible or would change nothing, as a message; null when it is available. */
export function actionRefusal(action: InstanceAction, instance: PricedActionState): string | null {
  return unavailableReason(action, instance)?.message ?? null
}

function unavailableReason(action: InstanceAction, instance: PricedActionState): Reason | null {
  return instance.destroyedAt ? reason('DESTROYED') : unavailableRules[action](instance)
}

const reason = (code: ReasonCode, message: string = reasonMessages[code]): Reason => ({ code, message })
const terminal = (status: InstanceStatus) => reason('TERMINAL', finalStatusRefusal(status))

const unavailableRules: Record<InstanceAction, (instance: PricedActionState) => Reason | null> = {
  start({ status, targetState }) {
    if (isFinal(status)) return terminal(status)
    return targetState === 'running' ? reason('ALREADY_RUNNING') : null
  },
  stop({ status, targetState }) {
    if (isFinal(status)) return reason('TERMINAL', `The instance has the status ${status}, so it is not running.`)
    return targetState === 'stopped' ? reason('ALREADY_STOPPED') : null
  },
  reboot({ status, targetState }) {
    if (isFinal(status)) return terminal(status)
    if (status !== 'running') {
      const message = `The instance has the status ${status}. Only a running instance can be rebooted.`
      return reason('NOT_RUNNING', message)
    }
    const message = 'The instance is about to stop. To keep it running, start it.'
    return targetState === 'stopped' ? reason('STOP_REQUESTED', message) : null
  },
  recycle({ status }) {
    const message = 'The instance has no container yet, so there is nothing to recycle.'
    if (status === 'created') return reason('NO_CONTAINER', message)
    return isFinal(status) ? terminal(status) : null
  },
  updateBid({ status, interruptible }) {
    const message = 'The instance is rented on demand at a fixed price. Only an interruptible instance has a bid.'
    if (!interruptible) return reason('FIXED_PRICE', message)
    return isFinal(status) ? terminal(status) : null
  },
  destroy: () => null,
}

export function finalStatusRefusal(status: InstanceStatus): string {
  return `The instance has the status ${status} and never runs again. Destroy it and rent a new one.`
}

/** A requested change. An absent field stays as it is. Null removes the label, and so does "", which only REST accepts. */
export type InstanceChange = { targetState?: TargetState | undefined; label?: string | null | undefined }

/** The fields that a change writes, or the message of a refusal. Fields that already match are left out. */
export function decideChange(
  instance: ActionState & { label: string | null },
  { targetState, label }: InstanceChange,
): { changes: { targetState?: TargetState; label?: string | null } } | { refusal: string } {
  if (targetState === 'running' && isFinal(instance.status)) return { refusal: finalStatusRefusal(instance.status) }
  return {
    changes: {
      // An instance that never runs again counts as stopped.
      ...(targetState !== undefined && targetState !== instance.targetState && !isFinal(instance.status)
        ? { targetState }
        : {}),
      ...(label !== undefined && (label || null) !== instance.label ? { label: label || null } : {}),
    },
  }
}
