import { PassThrough, Readable } from 'node:stream'
import type { ContainerProcess, ProcessSpec } from '../provider.ts'
import { runCommand, type Surroundings } from './shell.ts'

/**
 * A process of the simulated shell. A command ends at once. A login shell prints a line, reads nothing, and ends. A
 * command that fails prints only errors.
 */
export function processOf(made: Surroundings, { command, terminal }: ProcessSpec): ContainerProcess {
  const { output, exitCode } =
    command === null
      ? { output: 'This machine is simulated: it has no shell to log in to.\n', exitCode: 1 }
      : runCommand(made, command)
  const printed = Buffer.from(terminal ? output.replaceAll('\n', '\r\n') : output)
  const isError = exitCode !== 0 && terminal === null
  const stdin = new PassThrough()
  stdin.resume()
  return {
    stdin,
    stdout: Readable.from(isError ? [] : [printed]),
    stderr: Readable.from(isError ? [printed] : []),
    exitCode: Promise.resolve(exitCode),
    resize: async () => {},
    signal: async () => {},
    hangUp: () => {},
  }
}
