import type { Duplex, Readable, Writable } from 'node:stream'
import type {
  CommandOutput,
  ContainerRef,
  ContainerSpec,
  LogLine,
  LogRange,
  Observed,
} from '../domain/instances/containers.ts'
import type { ContainerStats } from '../domain/instances/metrics.ts'

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
  /**
   * Begins a process in the container: a command line, or a login shell without one. The signal ends the beginning
   * alone. Throws `ContainerNotRunning` if the container is not running.
   */
  open(container: ContainerRef, process: ProcessSpec, signal: AbortSignal): Promise<ContainerProcess>
  /**
   * Connects to a TCP port of the container, which may listen on its loopback alone. Throws `ContainerNotRunning`, or
   * `PortRefused` if nothing listens.
   */
  connect(container: ContainerRef, port: number, signal: AbortSignal): Promise<Duplex>
  /** What each running container of the machine uses now. A container that says nothing is left out. */
  stats(machineId: number, signal: AbortSignal): Promise<ContainerStats[]>
  /** What the machine has of this fleet, whether or not the database knows of it. */
  inventory(machineId: number, signal: AbortSignal): Promise<Inventory>
  /** Removes a volume and what it holds. A volume that is in use, or that does not exist, stays as it is. */
  removeVolume(machineId: number, volumeId: bigint, signal: AbortSignal): Promise<void>
  /**
   * Reports each instance whose container changes by itself, until the signal is aborted. Throws if the connection is
   * lost: then changes may have been missed. A driver whose containers announce their changes reports nothing.
   */
  watch(machineId: number, onChange: (instanceId: bigint) => void, signal: AbortSignal): Promise<void>
}

export type ProcessSpec = { command: string | null; terminal: Terminal | null }
/** A terminal has one stream of output. `type` is the value of TERM. */
export type Terminal = WindowSize & { type: string }
export type WindowSize = { columns: number; rows: number }

/** A process in a container. Its streams have back-pressure. What was read of `stdout` and `stderr` is complete when they end. */
export type ContainerProcess = {
  stdin: Writable
  stdout: Readable
  /** Empty with a terminal. */
  stderr: Readable
  /** Resolves when the process has ended. Rejects if the machine stops answering. */
  exitCode: Promise<number>
  resize(size: WindowSize): Promise<void>
  /** Sends a signal, such as SIGINT, to the process and its children. */
  signal(name: string): Promise<void>
  /** Ends the process as a lost connection ends a login: with SIGHUP. */
  hangUp(): void
}

export type Inventory = { instanceIds: bigint[]; volumeIds: bigint[] }

export class MachineUnreachable extends Error {
  override name = 'MachineUnreachable'
}

export class ContainerNotRunning extends Error {
  override name = 'ContainerNotRunning'
}

export class PortRefused extends Error {
  override name = 'PortRefused'
  /** Whether nothing will ever listen, because the machine is simulated. */
  readonly isSimulated: boolean

  constructor(message: string, { isSimulated = false } = {}) {
    super(message)
    this.isSimulated = isSimulated
  }
}

/** The container cannot start: something else has one of its public ports. */
export class PortTaken extends Error {
  override name = 'PortTaken'
}

/** The container cannot start yet: another one still runs on one of its GPUs. */
export class GpusTaken extends Error {
  override name = 'GpusTaken'
}
