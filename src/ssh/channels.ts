import type { Socket } from 'node:net'
import type { Connection, ServerChannel } from 'ssh2'
import { isForwardable, joinPort } from './forwarding.ts'
import type { SshLimits } from './limits.ts'
import type { Machine } from './machine.ts'
import { serveSession } from './session.ts'

type ChannelDeps = { machine: Machine; socket: Socket; limits: Pick<SshLimits, 'channels' | 'bufferedBytes'> }

/** A place among the channels of a connection. */
type Place = {
  /** Aborted when the client has closed the channel, or is gone. */
  leaving: AbortController
  end(message: string): void
  /** What the client has sent and the instance has not read. */
  bufferedBytes(): number
}

/**
 * Serves the sessions and the forwarded connections of a client that has logged in. ssh2 refuses all that has no
 * listener: ports of the gateway (`ssh -R`), sockets in files, the client's agent, X11, and environment variables.
 * Returns a function that ends all sessions with a message.
 */
export function serveChannels(client: Connection, { machine, socket, limits }: ChannelDeps) {
  const open = new Set<Place>()

  function takePlace(): Place | undefined {
    if (open.size >= limits.channels) return undefined
    const place = { leaving: new AbortController(), end: () => {}, bufferedBytes: () => 0 }
    open.add(place)
    return place
  }

  function leave(place: Place): void {
    open.delete(place)
    place.leaving.abort()
  }

  client.on('session', (accept, reject) => {
    const place = takePlace()
    if (!place) return reject()
    const session = accept()
    session.once('close', () => leave(place))
    Object.assign(place, serveSession(session, machine, socket, place.leaving.signal))
  })

  async function forward(place: Place, port: number, accept: () => ServerChannel, reject: () => void): Promise<void> {
    const gone = place.leaving.signal
    const remote = await machine.connect(port, gone)
    if (typeof remote === 'string') {
      leave(place)
      return reject()
    }
    const channel = accept()
    channel.on('error', () => {})
    channel.once('close', () => leave(place))
    place.bufferedBytes = () => channel.readableLength
    await joinPort(channel, remote, socket, gone)
  }

  client.on('tcpip', (accept, reject, info) => {
    const place = isForwardable(info) ? takePlace() : undefined
    if (!place) return reject()
    forward(place, info.destPort, accept, reject).catch(() => leave(place))
  })

  // Every channel may wait for the connection.
  socket.setMaxListeners(limits.channels + 20)
  socket.once('close', () => {
    for (const place of open) leave(place)
  })
  // ssh2 lets a client send more than its window.
  socket.on('data', () => {
    for (const { bufferedBytes } of open) if (bufferedBytes() > limits.bufferedBytes) socket.destroy()
  })

  return (message: string) => {
    for (const { end } of open) end(message)
  }
}
