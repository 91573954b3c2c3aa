// Hosts that send without end. A gateway reads what they send for a fifth of its time.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pino from 'pino'
import { expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createAgentSockets } from '../../../../src/http/agents/sockets.ts'

function workFor(ms: number): void {
  for (const begin = performance.now(); performance.now() - begin < ms; );
}

/** A host on a real socket. `receive` gets what it sends. */
async function connectHost(receive: (data: string | Buffer) => void) {
  const sockets = createAgentSockets(
    {
      gatewayId: '',
      maxMessageBytes: 1_000_000,
      admit: async () => ({ protocol: 'berth.host.1', open: async () => ({ receive, onClose() {} }) }),
    },
    pino({ level: 'silent' }),
  )
  const server = createServer().on('upgrade', sockets.upgrade).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/host`, ['berth.host.1'])
  await once(socket, 'open')
  return {
    socket,
    close() {
      socket.terminate()
      sockets.stop()
      server.close()
    },
  }
}

it('rests between the texts of a host that takes much of its time', async () => {
  const received: number[] = []
  const { socket, close } = await connectHost(data => {
    received.push(performance.now())
    if (typeof data === 'string') workFor(100)
  })
  // Larger than what is read from the network at once.
  for (let count = 0; count < 12; count += 1) socket.send('x'.repeat(200_000))
  socket.send(Buffer.from([1]))
  await expect.poll(() => received.length, { timeout: 30_000 }).toBe(13)
  const passedMs = (received.at(-1) as number) - (received[0] as number)
  // Five texts fill the first half second. Each of the others takes its 100 ms and rests four times as long.
  expect(passedMs).toBeGreaterThan(500 + 6 * 450)
  close()
})
