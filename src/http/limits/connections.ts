import type { Server, Socket } from 'node:net'
import { networkOf } from '../address-limits.ts'
import type { TrustedProxies } from '../client.ts'
import { createCounts } from './counts.ts'

/** A quarter of what a server accepts, so that silent connections of one address shut nobody else out. */
export const connectionsPerAddress = 500

/** Closes the connections that an address opens beyond its share. A trusted proxy opens those of all of its clients. */
export function limitConnections(
  server: Server,
  proxies: Pick<TrustedProxies, 'has'>,
  perAddress = connectionsPerAddress,
): void {
  const counts = createCounts(perAddress)
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    // The client has gone.
    if (remoteAddress === undefined) return void socket.destroy()
    if (proxies.has(remoteAddress)) return
    const network = networkOf(remoteAddress)
    if (!counts.add(network)) return void socket.destroy()
    socket.once('close', () => counts.remove(network))
  })
}
