import type {
  CommandOutput,
  ContainerSpec,
  ContainerSshKeys,
  LogLine,
  LogRange,
  Observed,
} from '../domain/instances/containers.ts'

/**
 * Runs containers somewhere. Every call may be repeated, with the same end; what it asks for has begun when it returns,
 * and `observe` says how far it has come. Where the machine does not answer, every call throws MachineUnreachable. A call
 * whose signal is aborted throws, and begins nothing afterwards.
 */
export type Provider = {
  observe(instanceId: bigint, signal: AbortSignal): Promise<Observed>
  /** Makes the container, and pulls its image. What is there already is left as it is. */
  ensure(spec: ContainerSpec, signal: AbortSignal): Promise<void>
  /** Lets these public keys and no others log in to the container, whether it runs or not. */
  setSshKeys(keys: ContainerSshKeys, signal: AbortSignal): Promise<void>
  start(instanceId: bigint, signal: AbortSignal): Promise<void>
  stop(instanceId: bigint, signal: AbortSignal): Promise<void>
  /** Removes the container and its disk. */
  remove(instanceId: bigint, signal: AbortSignal): Promise<void>
  /**
   * What it printed, the oldest line first, at most `maxLogLines` of them: the first ones after a cursor, else the last
   * ones. Nothing where there is no container.
   */
  logs(instanceId: bigint, range: LogRange, signal: AbortSignal): Promise<LogLine[]>
  /**
   * Runs a command line in the container's shell, and waits for its end. What it prints beyond `maxRead` is never kept.
   * Throws ContainerNotRunning where it cannot.
   */
  exec(instanceId: bigint, command: string, signal: AbortSignal): Promise<CommandOutput>
}

export class MachineUnreachable extends Error {
  override name = 'MachineUnreachable'
}

export class ContainerNotRunning extends Error {
  override name = 'ContainerNotRunning'
}
