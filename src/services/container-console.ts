// The port to running containers: reads their logs and runs commands in them.

import { DomainError } from '../domain/errors.ts'
import type { CommandOutput, ContainerRef, LogLine, LogRange } from '../domain/instances/containers.ts'
import { restPlace } from '../turns/owners.ts'

export type ContainerConsole = {
  /** The container's log, oldest line first. Empty if there is no container. */
  logs(container: ContainerRef, range: LogRange, signal: AbortSignal): Promise<LogLine[]>
  /** Runs a command line and waits until it ends. Returns undefined if the container does not run. */
  execute(container: ContainerRef, command: string, signal: AbortSignal): Promise<CommandOutput | undefined>
}

/**
 * Returns a machine's answer, or throws UNAVAILABLE after a timeout of `ms` or any failure: the caller can ask again. The request
 * gives its place back: renters decide how long their programs take, and could hold all places. Too many that wait would hold all
 * connections instead, so a further one is refused before it asks.
 */
export async function askMachine<Answer>(ms: number, ask: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
  if (!restPlace()) throw tooManyWait()
  const signal = AbortSignal.timeout(ms)
  const { promise: late, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', reject, { once: true })
  return await Promise.race([ask(signal), late]).catch(() => {
    const message = "The instance's machine did not answer in time. Try again in a moment."
    throw new DomainError('UNAVAILABLE', message, { undone: false })
  })
}

function tooManyWait(): DomainError<'UNAVAILABLE'> {
  const message = 'Too many requests wait for answers of machines. Try again in a moment.'
  return new DomainError('UNAVAILABLE', message, { undone: true })
}
