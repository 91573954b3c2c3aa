import type { VolumeMount } from '../launch/env.ts'
import type { Registry } from '../launch/registry.ts'
import type { LaunchConfig, PortBinding } from './instances.ts'

/** What a provider needs to make the container of an instance. */
export type ContainerSpec = {
  instanceId: bigint
  accountId: number
  machineId: number
  /** Whether it is to be a virtual machine. Only simulated machines have them. */
  vm: boolean
  gpus: number[]
  diskMb: number
  /** What the container may use of its machine; null if nothing limits it. */
  share: MachineShare | null
  /** The mode is a direct one if the instance has the public ports for it. */
  launch: LaunchConfig
  ports: PortBinding[]
  volumes: VolumeMount[]
  registry: Registry | undefined
  /** The public keys that may log in, in the order of their ids. */
  sshKeys: string[]
  /** The API key with which the instance may stop, start and destroy itself. */
  apiKey: string
}

/** May be a part of a CPU. */
export type MachineShare = { cpus: number; memoryMb: number }

/** The processors and memory of a machine in proportion to its GPUs. */
export function machineShareOf(
  { cpuCores, cpuRamMb, numGpus }: { cpuCores: number; cpuRamMb: number; numGpus: number },
  gpus: number,
): MachineShare {
  return { cpus: (cpuCores * gpus) / numGpus, memoryMb: Math.floor((cpuRamMb * gpus) / numGpus) }
}

/**
 * The container of an instance, and the machine that it is on. Containers of another account are never meant: once a database
 * was restored, a machine may have one whose instance's id was given again. `accountId` is undefined if an older gateway asks.
 */
export type ContainerRef = { machineId: number; instanceId: bigint; accountId: number | undefined }
/** As a gateway means it itself. */
export type OwnedContainerRef = ContainerRef & { accountId: number }

/**
 * What a provider observes of an instance's container. `until` is when the provider expects another state. `sshKeys` are
 * the public keys that may log in, in any order.
 */
export type Observed =
  /** The machine does not answer, so the state is unknown. */
  | { state: 'unreachable' }
  /** The instance has no container. */
  | { state: 'absent' }
  /** The image is being pulled. The container uses no GPU yet. */
  | { state: 'preparing'; until?: Date }
  /** The container exists and was never started. */
  | { state: 'prepared'; sshKeys: string[] }
  /** The container was started and is not ready yet. */
  | { state: 'starting'; until?: Date }
  | { state: 'running'; sshKeys: string[]; until?: Date }
  /** The provider requested a stop, and the container has not stopped yet. */
  | { state: 'stopping'; until?: Date }
  /** The container stopped because the provider requested it. */
  | { state: 'stopped'; sshKeys: string[] }
  /** The container ended without a request. `endedAt` is absent when the time is unknown. */
  | { state: 'exited'; exitCode: number; sshKeys: string[]; endedAt?: Date }
  /** The container could not be made or started, and a retry will not help. */
  | { state: 'failed'; code: 'IMAGE_PULL_FAILED' | 'START_FAILED'; message: string; fault?: StartFault }

/** Who kept an instance from running: its machine, or either the machine or the image. Absent if it is the renter. */
export type StartFault = 'machine' | 'unclear'

/** Whether the container may be using its GPUs. An unreachable one may. */
export function isUsingGpus({ state }: Observed): boolean {
  return state === 'starting' || state === 'running' || state === 'stopping' || state === 'unreachable'
}

/** The source of a log line. `machine` lines report what the machine does with the container. */
const logSources = ['machine', 'stdout', 'stderr'] as const
export type LogSource = (typeof logSources)[number]

/** A printed line. Reading can resume after its cursor, even if the container was restarted or made anew since. */
export type LogLine = { printedAt: Date; text: string; source: LogSource; cursor: string }

/**
 * Selects log lines, at most `maxLogLines`: with `after`, the oldest lines after that cursor; with `tail`, that many last
 * lines; with neither, the last lines.
 */
export type LogRange = { after?: string | undefined; tail?: number | undefined }

/** At most this many lines are read at a time. */
export const maxLogLines = 1_000

/** Limit on the characters that are read of a command's output: one more than is shown, to detect longer output. */
export const maxReadLength = 65_537

export type CommandOutput = { exitCode: number; output: string }
