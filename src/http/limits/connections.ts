import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { customerNetworkOf } from '../address-limits.ts'
import type { TrustedProxies } from '../client.ts'
import { createCounts } from './counts.ts'
import { createPlaces } from './places.ts'

/** Connections that a server has at once. */
export const maxConnections = 2_000
/** A quarter of these, so that silent connections of one address shut nobody else out. */
export const connectionsPerAddress = 500

/**
 * Closes the connections that an address opens beyond its share, and those for which there is no place. A trusted proxy
 * opens those of all of its clients.
 */
export function limitConnections(
  server: Server,
  proxies: Pick<TrustedProxies, 'has'>,
  perAddress = connectionsPerAddress,
  places = maxConnections,
): void {
  const counts = createCounts(perAddress)
  const takePlace = createPlaces(server, places)

  function addToShare(socket: Socket, address: string): boolean {
    if (proxies.has(address)) return true
    const network = customerNetworkOf(address)
    if (!counts.add(network)) return false
    socket.once('close', () => counts.remove(network))
    return true
  }

  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    // Without an address, the client has gone.
    const isAccepted = remoteAddress !== undefined && addToShare(socket, remoteAddress) && takePlace(socket)
    if (!isAccepted) socket.destroy()
  })
}
