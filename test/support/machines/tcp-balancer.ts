// A load balancer for connections: it passes each on to one of its gateways, and to the next if that one is dead.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type TcpBalancer = Awaited<ReturnType<typeof startTcpBalancer>>

export async function startTcpBalancer() {
  let ports: number[] = []
  let turn = 0
  const clients = new Set<Socket>()
  const arrivals: number[] = []
  const server = createServer(client => {
    arrivals.push(performance.now())
    clients.add(client)
    client.on('error', () => {})
    client.on('close', () => clients.delete(client))
    turn += 1
    tryNext(
      client,
      ports.map((_, index) => ports[(turn + index) % ports.length] as number),
    )
  })

  function tryNext(client: Socket, [port, ...others]: number[]): void {
    if (port === undefined) return void client.destroy()
    const backend = connect(port, '127.0.0.1')
    backend.once('connect', () => {
      client.pipe(backend).pipe(client)
      client.on('close', () => backend.destroy())
      backend.on('close', () => client.destroy())
    })
    backend.on('error', () => {
      if (backend.connecting || backend.bytesRead + backend.bytesWritten === 0) tryNext(client, others)
      else client.destroy()
    })
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** When connections came, in ms of this process. */
    arrivals,
    use(urls: string[]): void {
      ports = urls.map(url => Number(new URL(url).port))
    },
    async close(): Promise<void> {
      for (const client of clients) client.destroy()
      server.close()
    },
  }
}
