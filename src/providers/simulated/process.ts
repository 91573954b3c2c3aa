import { PassThrough, Readable } from 'node:stream'
import type { ContainerProcess, ProcessSpec } from '../provider.ts'
import { runCommand, type Surroundings } from './shell.ts'

/** A process of the simulated shell. A command ends at once. A login shell prints a line, reads nothing, and ends. */
export function processOf(made: Surroundings, { command, terminal }: ProcessSpec): ContainerProcess {
  const { output, exitCode } =
    command === null
      ? { output: 'This machine is simulated: it has no shell to log in to.\n', exitCode: 1 }
      : runCommand(made, command)
  const stdin = new PassThrough()
  stdin.resume()
  return {
    stdin,
    stdout: Readable.from([Buffer.from(terminal ? output.replaceAll('\n', '\r\n') : output)]),
    stderr: Readable.from([]),
    exitCode: Promise.resolve(exitCode),
    resize: async () => {},
    signal: async () => {},
    hangUp: () => {},
  }
}
