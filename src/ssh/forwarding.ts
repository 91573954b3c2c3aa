// Forwarded connections to ports of the instance: `ssh -L`, `ssh -W`, and jumps.

import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ServerChannel, TcpipRequestInfo } from 'ssh2'
import { createOutput } from './output.ts'

/** The names of the instance inside itself. The gateway is no way to any other host. */
const loopbackNames = ['127.0.0.1', 'localhost', '::1']

export function isForwardable({ destIP, destPort }: Pick<TcpipRequestInfo, 'destIP' | 'destPort'>): boolean {
  return loopbackNames.includes(destIP) && destPort >= 1 && destPort <= 65_535
}

/** Joins a connection to a port with the channel of its client, until one of them closes. */
export async function joinPort(
  channel: ServerChannel,
  remote: Duplex,
  socket: Socket,
  gone: AbortSignal,
): Promise<void> {
  const destroy = () => void remote.destroy()
  if (gone.aborted) return destroy()
  gone.addEventListener('abort', destroy, { once: true })
  const closed = once(remote, 'close').catch(() => {})
  remote.on('error', () => {})
  channel.pipe(remote)
  // A connection that breaks has no more output.
  await createOutput(channel, socket, gone)
    .writeAll(remote, 'stdout')
    .catch(() => {})
  // The client may still send after the end of the output.
  channel.eof()
  await closed
  channel.unpipe(remote)
  channel.resume()
  channel.end()
}
