import type { VolumeMount } from '../launch/env.ts'
import type { Registry } from '../launch/registry.ts'
import type { LaunchConfig, PortBinding } from './instances.ts'

/** What a provider is told of an instance whose container it is to make. */
export type ContainerSpec = {
  instanceId: bigint
  machineId: number
  gpus: number[]
  diskMb: number
  /** Its mode is a direct one where it has the public ports for that. */
  launch: LaunchConfig
  ports: PortBinding[]
  volumes: VolumeMount[]
  registry: Registry | undefined
  /** The public keys that log in to it, in the order of their ids. */
  sshKeys: string[]
  /** The key with which it may stop, start and destroy itself. */
  apiKey: string
}

/** Which keys are to log in to a container that is there. */
export type ContainerSshKeys = Pick<ContainerSpec, 'instanceId' | 'sshKeys'>

/**
 * What a provider sees of an instance's container. `until` is when it expects to see something else; `sshKeys` are the
 * public keys that log in to it, in any order.
 */
export type Observed =
  /** Its machine does not answer, so nobody knows. */
  | { state: 'unreachable' }
  /** There is none. */
  | { state: 'absent' }
  /** Its image is being pulled. It uses no GPU yet. */
  | { state: 'preparing'; until?: Date }
  /** It is there and was never started. */
  | { state: 'prepared'; sshKeys: string[] }
  /** It was started and is not ready yet. */
  | { state: 'starting'; until?: Date }
  | { state: 'running'; sshKeys: string[]; until?: Date }
  /** It was told to stop and has not yet. */
  | { state: 'stopping'; until?: Date }
  /** It stopped because it was told to. */
  | { state: 'stopped'; sshKeys: string[] }
  /** It ended by itself: when, if that is known. */
  | { state: 'exited'; exitCode: number; sshKeys: string[]; endedAt?: Date }
  /** It could not be made or started, and trying again will not help. */
  | { state: 'failed'; code: 'IMAGE_PULL_FAILED' | 'START_FAILED'; message: string }

/** Whether the container may be using its GPUs. */
export function isUsingGpus({ state }: Observed): boolean {
  return state === 'starting' || state === 'running' || state === 'stopping' || state === 'unreachable'
}

/** Who printed a line of a log: the machine tells what it does with the container, the rest is the container's own. */
export const logSources = ['machine', 'stdout', 'stderr'] as const
export type LogSource = (typeof logSources)[number]

/**
 * What a container printed. Reading goes on behind a line when it is told the cursor of that line, whatever became of
 * the container since.
 */
export type LogLine = { at: Date; text: string; source: LogSource; cursor: string }

/**
 * Which lines are asked for: those after a cursor, the oldest first to come; or the last ones, which is all that there
 * is unless told how many.
 */
export type LogRange = { after?: string | undefined; tail?: number | undefined }

/** So many lines are read at a time, at most. */
export const maxLogLines = 1_000

/** So many characters are read of what a command prints: one more than is shown, which tells that there was more. */
export const maxReadLength = 65_537

/** What became of a command in a container. */
export type CommandOutput = { exitCode: number; output: string }
