import type { LaunchConfig, PortBinding } from './instances.ts'
import type { Registry } from './registry.ts'

/** What a provider is told of an instance whose container it is to make. */
export type ContainerSpec = {
  instanceId: bigint
  machineId: number
  gpus: number[]
  diskMb: number
  launch: LaunchConfig
  ports: PortBinding[]
  registry: Registry | undefined
  /** With which it may start, stop and destroy itself. */
  apiKey: string
}

/** What a provider sees of an instance's container. `until` is when it expects to see something else. */
export type Truth =
  /** There is none. */
  | { state: 'absent' }
  /** Its image is being pulled. It uses no GPU yet. */
  | { state: 'preparing'; until?: Date }
  /** It is there and was never started. */
  | { state: 'prepared' }
  /** It was started and is not ready yet. */
  | { state: 'starting'; until?: Date }
  | { state: 'running' }
  /** It was told to stop and has not yet. */
  | { state: 'stopping'; until?: Date }
  /** It stopped because it was told to. */
  | { state: 'stopped' }
  /** It ended by itself. */
  | { state: 'exited'; exitCode: number }
  /** It could not be made or started, and trying again will not help. */
  | { state: 'failed'; code: 'IMAGE_PULL_FAILED' | 'START_FAILED'; message: string }

/** Whether the container may be using its GPUs. */
export function isActive({ state }: Truth): boolean {
  return state === 'starting' || state === 'running' || state === 'stopping'
}
