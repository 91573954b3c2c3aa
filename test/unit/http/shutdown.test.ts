import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createShutdown } from '../../../src/http/shutdown.ts'

/** The size of an answer, which is more than the network's buffers hold. */
const bytes = 20_000_000

async function startSlowRead() {
  const server = createServer((_request, response) => response.end(Buffer.alloc(bytes)))
  const shutdown = createShutdown(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const write = () => client.write('GET / HTTP/1.1\r\nHost: berth\r\n\r\n')
  return { server, shutdown, client, write }
}

it('sends the whole answer to a client that reads slowly', async () => {
  const { shutdown, client, write } = await startSlowRead()
  write()
  await once(client, 'readable')
  shutdown.disableKeepAlive()
  const closed = shutdown.close(10_000)
  await sleep(200)
  let received = 0
  client.on('data', data => {
    received += data.length
  })
  await once(client, 'close')
  expect(received).toBeGreaterThan(bytes)
  await closed
})

it('waits no longer than the grace period for a client that does not read', async () => {
  const { shutdown, client, write } = await startSlowRead()
  write()
  await once(client, 'readable')
  const begin = performance.now()
  await shutdown.close(300)
  expect(performance.now() - begin).toBeLessThan(5_000)
  client.destroy()
})

it('closes a connection that sends no further request', async () => {
  const { server, shutdown, client, write } = await startSlowRead()
  write()
  client.resume()
  await expect.poll(() => client.bytesRead).toBeGreaterThan(bytes)
  await shutdown.close(10_000)
  expect(server.listening).toBe(false)
  await expect.poll(() => client.destroyed).toBe(true)
})

it('answers clients whose connections wait to be accepted', async () => {
  const server = createServer((_request, response) => response.end('answer'))
  const shutdown = createShutdown(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clients = Array.from({ length: 50 }, () => connect(port, '127.0.0.1'))
  await Promise.all(clients.map(client => once(client, 'connect')))
  for (const client of clients) client.write('GET / HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n\r\n')
  const [, ...answers] = await Promise.all([shutdown.close(10_000), ...clients.map(text)])
  for (const answer of answers) expect(answer).toContain('answer')
})
