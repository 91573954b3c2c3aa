import type {
  CommandOutput,
  ContainerRef,
  ContainerSpec,
  LogLine,
  LogRange,
  Observed,
} from '../domain/instances/containers.ts'

/**
 * Runs containers on machines. Calls that change a container are idempotent. They return when the change has begun;
 * `observe` reports its progress. Every call throws `MachineUnreachable` if the machine does not answer. A call whose
 * signal is aborted throws, and begins nothing afterwards.
 */
export type Provider = {
  observe(container: ContainerRef, signal: AbortSignal): Promise<Observed>
  /** Makes the container and pulls its image. A container that exists stays as it is. */
  ensure(spec: ContainerSpec, signal: AbortSignal): Promise<void>
  /** Lets exactly these public keys log in to the container, whether it runs or not. */
  setSshKeys(container: ContainerRef, sshKeys: readonly string[], signal: AbortSignal): Promise<void>
  start(container: ContainerRef, signal: AbortSignal): Promise<void>
  stop(container: ContainerRef, signal: AbortSignal): Promise<void>
  /** Removes the container and its disk. */
  remove(container: ContainerRef, signal: AbortSignal): Promise<void>
  /**
   * Log lines, oldest first, at most `maxLogLines`: the first ones after a cursor, else the last ones. Empty if there
   * is no container.
   */
  logs(container: ContainerRef, range: LogRange, signal: AbortSignal): Promise<LogLine[]>
  /**
   * Runs a command line in the container's shell, and waits for its end. Output beyond `maxReadLength` is dropped.
   * Throws `ContainerNotRunning` if the container is not running.
   */
  exec(container: ContainerRef, command: string, signal: AbortSignal): Promise<CommandOutput>
}

export class MachineUnreachable extends Error {
  override name = 'MachineUnreachable'
}

export class ContainerNotRunning extends Error {
  override name = 'ContainerNotRunning'
}
