// The port to what runs in containers: what they print, and commands in them.

import { DomainError } from '../domain/errors.ts'
import type { CommandOutput, LogLine, LogRange } from '../domain/instances/containers.ts'

export type ContainerConsole = {
  /** What a container printed, the oldest line first. Nothing where there is none. */
  logs(instanceId: bigint, range: LogRange, signal: AbortSignal): Promise<LogLine[]>
  /** Runs a command line, and waits for its end. Undefined where the container does not run. */
  execute(instanceId: bigint, command: string, signal: AbortSignal): Promise<CommandOutput | undefined>
}

/** What a machine answers within so long. Whatever else becomes of the question, it can be asked again. */
export async function askMachine<Answer>(ms: number, ask: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
  const signal = AbortSignal.timeout(ms)
  const { promise: late, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', reject, { once: true })
  return await Promise.race([ask(signal), late]).catch(() => {
    const message = 'The machine of the instance did not answer in time. Try again in a moment.'
    throw new DomainError('UNAVAILABLE', message, { undone: false })
  })
}
