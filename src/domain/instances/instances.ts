import type { Port, VolumeMount } from '../launch/env.ts'
import type { Launch } from '../launch/launch.ts'
import type { Block, GpuModel, Machine } from '../machines/machines.ts'
import type { ReasonCode } from '../reasons.ts'
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
}: Pick<Instance, 'targetState' | 'status' | 'destroyedAt' | 'holdsGpus'>): boolean {
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
  /** Whether its machine is simulated: it has no container engine. */
  simulated: boolean
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
