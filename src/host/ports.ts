// Opens public ports of the machine for a moment, so that the gateway can try whether it reaches them.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { maxTriedPorts, portCandidates } from '../domain/machines/port-check.ts'

export type OpenPorts = {
  /** `answer`: what each port sends to who connects. */
  listening: { ports: number[]; answer: string }
  close(): void
}

/** Ports that are taken are left out: containers may have them. */
export async function openPorts(range: { firstPort: number; lastPort: number }): Promise<OpenPorts> {
  const answer = randomBytes(32).toString('base64url')
  const servers = new Map<number, Server>()
  for (const port of portCandidates(range, Math.random)) {
    if (servers.size === maxTriedPorts) break
    const server = await listenOn(port, answer)
    if (server) servers.set(port, server)
  }
  const close = () => {
    for (const server of servers.values()) server.close()
  }
  return { listening: { ports: [...servers.keys()], answer }, close }
}

async function listenOn(port: number, answer: string): Promise<Server | undefined> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    // Who connects has nothing to say, and must not keep the port.
    socket.setTimeout(1_000, () => socket.destroy())
    socket.end(answer, () => socket.destroySoon())
  })
  server.maxConnections = 100
  try {
    await once(server.listen(port), 'listening')
    return server
  } catch {
    return undefined
  }
}
