import type { Socket } from 'node:net'
import type { ServerChannel } from 'ssh2'
import type { ContainerProcess } from '../providers/provider.ts'
import { createOutput } from './output.ts'

/** The exit code by which programs such as ssh tell that the connection failed, and not the command. */
export const connectionFailed = 255

const endOfInput = '\x04'

type Carried = { hasTerminal: boolean; socket: Socket; gone: AbortSignal }

/**
 * Connects a process with the channel of its client until the process has ended, and tells its exit code after all of
 * its output. Hangs up the process if the client is gone before.
 */
export async function carryProcess(channel: ServerChannel, running: ContainerProcess, carried: Carried): Promise<void> {
  const { hasTerminal, socket, gone } = carried
  const output = createOutput(channel, socket, gone)
  const hangUp = () => running.hangUp()
  if (gone.aborted) hangUp()
  gone.addEventListener('abort', hangUp, { once: true })
  passInput(channel, running, hasTerminal)
  // The output may end long before the process.
  running.exitCode.catch(() => {})
  const exitCode = await Promise.all([
    output.writeAll(running.stdout, 'stdout'),
    output.writeAll(running.stderr, 'stderr'),
  ])
    .then(() => running.exitCode)
    .catch(async () => {
      await output.write(lineFor(hasTerminal, 'The connection to the machine was lost.'), 'stderr')
      return connectionFailed
    })
  gone.removeEventListener('abort', hangUp)
  finish(channel, exitCode)
}

/** Tells the client why it gets no process, or why its process ends. */
export function refuseProcess(channel: ServerChannel, hasTerminal: boolean, message: string): void {
  channel.stderr.write(lineFor(hasTerminal, message))
  finish(channel, connectionFailed)
}

/** The end waits for what was written. `close()` would cut it off. */
function finish(channel: ServerChannel, exitCode: number): void {
  channel.exit(exitCode)
  channel.end()
  channel.unpipe()
  channel.resume()
}

function passInput(channel: ServerChannel, { stdin }: ContainerProcess, hasTerminal: boolean): void {
  channel.pipe(stdin, { end: false })
  // The end of its input hangs up a terminal. A person at a terminal ends the input with this byte.
  channel.once('end', () => (hasTerminal ? stdin.write(endOfInput) : stdin.end()))
  // A process that reads no more leaves the rest unread.
  const discard = () => {
    channel.unpipe(stdin)
    channel.resume()
  }
  stdin.on('error', discard).on('close', discard)
}

function lineFor(hasTerminal: boolean, message: string): string {
  return hasTerminal ? `${message}\r\n` : `${message}\n`
}
