import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** Listens for SSH on a free port of this machine. */
export async function listenForSsh(serve: (socket: Socket) => void) {
  const server = createServer(serve).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}
