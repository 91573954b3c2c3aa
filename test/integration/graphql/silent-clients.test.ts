// One address that opens connections and WebSockets and says nothing on them. Others are served meanwhile.

import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { connectionLimits } from '../../../src/graphql/transport/sockets.ts'
import { createTrustedProxies } from '../../../src/http/client.ts'
import { connectionsPerAddress } from '../../../src/http/limits/connections.ts'
import { socketLimits } from '../../../src/http/sockets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { openRawSocket, serveApp } from '../../support/streams.ts'

let app: TestApp
let served: Awaited<ReturnType<typeof serveApp>>
let key: string
const opened: { destroy(): void }[] = []

beforeAll(async () => {
  // All of 127.0.0.0/8 reaches this machine: an address of it is a client, and another one a proxy.
  app = await startApp({ pointsPerSecond: 20_000, proxies: createTrustedProxies(['127.0.0.9']) })
  served = await serveApp(app)
  key = await app.newKey()
})

afterEach(() => {
  for (const each of opened.splice(0)) each.destroy()
})

afterAll(async () => {
  await served.close()
  await app.close()
})

/** Opens silent connections, and returns the most that the server had at a time. */
async function openSilently(localAddress: string, count: number): Promise<number> {
  const sockets = Array.from({ length: count }, () => connect({ port: served.port, host: '127.0.0.1', localAddress }))
  opened.push(...sockets)
  let connected = 0
  for (const socket of sockets) socket.on('error', () => {}).once('connect', () => (connected += 1))
  let most = 0
  const sample = async () => {
    most = Math.max(most, await served.countConnections())
    return connected
  }
  await expect.poll(sample, { timeout: 30_000, interval: 20 }).toBe(count)
  // The server accepts connections after the system has: the last one has been seen when another is answered.
  expect(await askFrom('127.0.0.4')).toBe('200')
  await sample()
  return most
}

/** The status of a request from the address, over a connection of its own. */
async function askFrom(localAddress: string): Promise<string> {
  const socket = connect({ port: served.port, host: '127.0.0.1', localAddress })
  opened.push(socket)
  socket.on('error', () => {})
  socket.write(`GET /api/v0/users/current/ HTTP/1.1\r\nhost: berth\r\nauthorization: Bearer ${key}\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  return String(answer).slice(9, 12)
}

it('serves others while an address opens more connections than the server accepts', async () => {
  const opening = openSilently('127.0.0.2', 2_100)
  expect(await askFrom('127.0.0.3')).toBe('200')
  // Those of others are a few.
  expect(await opening).toBeLessThan(connectionsPerAddress + 10)
  for (const each of opened.splice(0)) each.destroy()
  await expect.poll(served.countConnections).toBe(0)
  expect(await askFrom('127.0.0.2')).toBe('200')
})

it('serves others while four addresses hold all connections that the server accepts', async () => {
  for (const last of [5, 6, 7, 8]) await openSilently(`127.0.0.${last}`, connectionsPerAddress)
  expect(await askFrom('127.0.0.3')).toBe('200')
  expect(await served.countConnections()).toBeLessThan(2_010)
})

it('accepts more connections of a trusted proxy', async () => {
  expect(await openSilently('127.0.0.9', 2 * connectionsPerAddress)).toBeGreaterThan(connectionsPerAddress + 10)
})

/** Opens a WebSocket for a client behind the proxy. Returns the status if it is refused. */
async function openFor(client: string, localAddress = '127.0.0.9'): Promise<'open' | number> {
  const socket = new WebSocket(`ws://127.0.0.1:${served.port}/graphql`, 'graphql-transport-ws', {
    headers: { 'x-forwarded-for': client },
    localAddress,
  })
  opened.push({ destroy: () => socket.terminate() })
  return await new Promise(resolve => {
    socket.on('error', () => {})
    socket.once('open', () => resolve('open'))
    socket.once('unexpected-response', (_request, { statusCode = 0 }) => resolve(statusCode))
  })
}

it('lets others open WebSockets while an address opens a thousand and says nothing on them', async () => {
  const begunMs = performance.now()
  const results = await Promise.all(Array.from({ length: 1_000 }, () => openFor('192.0.2.1')))
  // A silent one closes after three seconds, and leaves its place to another.
  const rounds = 1 + Math.floor((performance.now() - begunMs) / connectionLimits.initMs)
  const count = (result: 'open' | number) => results.filter(each => each === result).length
  expect(count('open')).toBeGreaterThanOrEqual(socketLimits.unknownPerAddress)
  expect(count('open')).toBeLessThanOrEqual(rounds * socketLimits.unknownPerAddress)
  expect(count('open') + count(429)).toBe(1_000)
  expect(await openFor('192.0.2.2')).toBe('open')
})

it('lets others open WebSockets while the addresses of one customer hold all and say nothing on them', async () => {
  app.clock.advance(60_000)
  const addresses = Array.from({ length: 12 }, (_, n) => `2001:db8:0:${n.toString(16)}::1`)
  const { unknownPerAddress } = socketLimits
  await Promise.all(addresses.flatMap(each => Array.from({ length: unknownPerAddress }, () => openFor(each))))
  expect(await openFor('192.0.2.4')).toBe('open')
})

it('does not count a WebSocket for its address once it has sent a valid key', async () => {
  app.clock.advance(60_000)
  const { say, heard, socket } = await openRawSocket(served.url)
  opened.push({ destroy: () => socket.terminate() })
  say({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } })
  await expect.poll(() => heard).toEqual([{ type: 'connection_ack' }])
  const sockets = await Promise.all(
    Array.from({ length: socketLimits.unknownPerAddress }, () => openRawSocket(served.url)),
  )
  for (const each of sockets) opened.push({ destroy: () => each.socket.terminate() })
  expect(await openFor('192.0.2.3', '127.0.0.1')).toBe(429)
})

it('refuses an operation without points over a WebSocket, and keeps the socket open', async () => {
  app.clock.advance(60_000)
  const { say, heard, socket } = await openRawSocket(served.url)
  opened.push({ destroy: () => socket.terminate() })
  say({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } })
  await expect.poll(() => heard).toEqual([{ type: 'connection_ack' }])
  const nodes = 'nodes { id numGpus gpuRamMb listedUntil machine { id downloadMbps uploadMbps reliability } }'
  const pages = Array.from({ length: 6 }, (_, index) => `page${index}: offers(first: 100) { ${nodes} }`)
  const big = `{ ${pages.join(' ')} }`
  const refusal = () => heard.map(message => JSON.stringify(message)).find(text => text.includes('"errors"'))
  for (let id = 1; id <= 40 && !refusal(); id += 1) {
    say({ id: String(id), type: 'subscribe', payload: { query: big } })
    const isOver = () =>
      heard.some(({ type, id: of }) => of === String(id) && (type === 'complete' || type === 'error'))
    await expect.poll(isOver, { timeout: 30_000 }).toBe(true)
  }
  expect(refusal()).toContain('"code":"RATE_LIMITED","retry":"LATER"')
  app.clock.advance(60_000)
  say({ id: 'after', type: 'subscribe', payload: { query: '{ viewer { apiKey { id } } }' } })
  await expect.poll(() => heard, { timeout: 30_000 }).toContainEqual({ id: 'after', type: 'complete' })
})
