import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type FaultyProxy = {
  url: string
  countSockets: () => number
  cut: () => void
  freeze: () => void
  /** Ends a freeze for old and new connections. Those that were made meanwhile never answer. */
  thaw: () => void
  /** Passes on everything so many milliseconds late. */
  delay: (ms: number) => void
  heal: () => void
  /** Leads new connections to another server, and cuts the existing ones. */
  switchTo: (databaseUrl: string) => void
  close: () => void
}

/** A proxy between the app and its database that fails on command. */
export async function startFaultyProxy(databaseUrl: string): Promise<FaultyProxy> {
  let target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let state: 'open' | 'cut' | 'frozen' = 'open'
  let delayMs = 0
  // Timers of equal length fire in the order in which they were set.
  const pass = (data: Buffer, to: Socket) => {
    if (state === 'open') delayMs > 0 ? setTimeout(() => to.write(data), delayMs) : to.write(data)
  }
  const server = createServer(client => {
    sockets.add(client)
    client.on('error', () => {})
    if (state === 'cut') return void client.destroy()
    if (state === 'frozen') return
    const upstream = connect(Number(target.port), target.hostname)
    sockets.add(upstream)
    upstream.on('error', () => client.destroy())
    client.on('data', data => pass(data, upstream))
    upstream.on('data', data => pass(data, client))
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  return {
    url: url.href,
    countSockets: () => sockets.size,
    cut: () => {
      state = 'cut'
      destroyAll()
    },
    freeze: () => {
      state = 'frozen'
    },
    thaw: () => {
      state = 'open'
    },
    delay: ms => {
      delayMs = ms
    },
    heal: () => {
      state = 'open'
      delayMs = 0
      destroyAll()
    },
    switchTo: otherUrl => {
      target = new URL(otherUrl)
      state = 'open'
      destroyAll()
    },
    close: () => {
      destroyAll()
      server.close()
    },
  }
}
