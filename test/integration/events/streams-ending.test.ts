// Why Berth ends streams, over both transports, and that nothing stays open after them.

import { once } from 'node:events'
import { connect } from 'node:net'
import { type Client, createClient } from 'graphql-ws'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { maxBufferedEvents, streamLimits } from '../../../src/domain/streams.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { measureMemory } from '../../support/memory.ts'
import {
  changesOnly,
  openRawSocket,
  type Subscription,
  serveApp,
  subscribeSse,
  subscribeWebSocket,
} from '../../support/streams.ts'

type Gateway = { app: TestApp; server: Awaited<ReturnType<typeof serveApp>> }
type Transport = 'SSE' | 'SSE through Yoga' | 'WebSocket'

let first: Gateway
let second: Gateway
let rentals: Rentals
let renter: string
let clients = new Map<string, Client>()

beforeAll(async () => {
  const app = await startApp()
  first = { app, server: await serveApp(app) }
  second = await startGateway()
  rentals = rentalsOf(app)
  renter = await app.newKey(null, someCredit)
})

async function startGateway(): Promise<Gateway> {
  const app = await startApp({ sharedApp: first.app })
  return { app, server: await serveApp(app) }
}

afterEach(async () => {
  for (const client of clients.values()) await client.dispose()
  clients = new Map()
  for (const { app } of [first, second]) await expect.poll(() => app.countStreams(), { timeout: 5_000 }).toBe(0)
})

afterAll(async () => {
  for (const { app, server } of [second, first]) {
    await server.close()
    await app.close()
  }
})

/** At the other path of the endpoint, no request is plain. */
const paths = { SSE: '/graphql', 'SSE through Yoga': '/graphql/' }

type Stream = Omit<Subscription, 'status'>

async function open(transport: Transport, { server }: Gateway, key: string, query: string): Promise<Stream> {
  if (transport !== 'WebSocket') return await subscribeSse(fetch, key, query, { url: server.url + paths[transport] })
  const url = `${server.url.replace('http', 'ws')}/graphql`
  const connectionParams = { authorization: `Bearer ${key}` }
  // All streams of a key share one socket.
  const name = `${url} ${key}`
  const client =
    clients.get(name) ?? createClient({ url, webSocketImpl: WebSocket, connectionParams, retryAttempts: 0 })
  clients.set(name, client)
  return subscribeWebSocket(client, query)
}

const watchQuery = (id: number, fields = 'id') =>
  `subscription { instanceChanges(filter: { ids: ["${id}"] }) { ... on InstanceChange { instance { ${fields} } } } }`
const ended = (reason: string) => [
  {
    errors: [
      {
        message: expect.any(String),
        extensions: { code: 'STREAM_ENDED', retry: reason === 'KEY_ENDED' ? 'AFTER_FIX' : 'LATER', reason },
      },
    ],
  },
]
const transports: Transport[] = ['SSE', 'SSE through Yoga', 'WebSocket']

describe.each(transports)('a stream over %s', transport => {
  async function opened(gateway: Gateway, key: string): Promise<Stream> {
    const id = await rentals.rent(renter)
    const stream = changesOnly(await open(transport, gateway, key, watchQuery(id)))
    expect(await stream.next()).toEqual({ data: { instanceChanges: { instance: { id: `ins_${id}` } } } })
    return stream
  }

  async function idOf(key: string): Promise<string> {
    const [row] = await first.app.sql(`SELECT id FROM api_keys WHERE public_id = '${key.split('_')[1]}'`)
    return `key_${(row as { id: number }).id}`
  }

  it.each(['deleteApiKey', 'rotateApiKeySecret'])('ends on every gateway soon after %s', async mutation => {
    const key = await first.app.newScopedKey(renter, { api: { instance_read: {} } })
    const streams = [await opened(first, key), await opened(second, key)]
    const other = await opened(second, renter)
    const input = `input: { id: "${await idOf(key)}" }`
    const { data } = await first.app.graphql(renter, `mutation { ${mutation}(${input}) { __typename } }`)
    expect(data[mutation].__typename).toMatch(/Success$/)
    const start = performance.now()
    expect(await Promise.all(streams.map(stream => stream.readToEnd()))).toEqual([
      ended('KEY_ENDED'),
      ended('KEY_ENDED'),
    ])
    expect(performance.now() - start).toBeLessThan(3_000)
    expect(second.app.countStreams()).toBe(1)
    await other.close()
  })

  it('ends on every gateway soon after an operator has disabled its account, and then opens on none', async () => {
    const key = await first.app.newKey(null, someCredit)
    const id = await rentals.rent(key)
    const query = watchQuery(id)
    const streams: Stream[] = []
    for (const gateway of [first, second]) {
      const stream = changesOnly(await open(transport, gateway, key, query))
      expect(await stream.next()).toMatchObject({ data: { instanceChanges: { instance: { id: `ins_${id}` } } } })
      streams.push(stream)
    }
    const [row] = await first.app.sql(`SELECT account_id FROM instances WHERE id = ${id}`)
    const account = { id: (row as { account_id: number }).account_id }
    const { accounts } = second.app.operations
    await accounts.disable(account, { reason: 'Fraud.', keepInstances: true })
    expect(await Promise.all(streams.map(stream => stream.readToEnd()))).toEqual([
      ended('KEY_ENDED'),
      ended('KEY_ENDED'),
    ])
    expect((await first.app.graphql(key, '{ __typename }')).errors?.[0]?.extensions['code']).toBe('ACCOUNT_DISABLED')
    await accounts.enable(account)
    const again = changesOnly(await open(transport, first, key, query))
    expect(await again.next()).toMatchObject({ data: { instanceChanges: { instance: { id: `ins_${id}` } } } })
    await again.close()
  })

  it('ends when its key expires', async () => {
    const expiresAt = new Date(first.app.clock.now().getTime() + 60_000).toISOString()
    const { data } = await first.app.graphql(
      renter,
      `mutation { createApiKey(input: { name: "short", fullAccess: true, expiresAt: "${expiresAt}" }) {
        ... on CreateApiKeySuccess { secret } } }`,
    )
    const stream = await opened(first, data.createApiKey.secret)
    first.app.clock.advance(60_000)
    expect(await stream.readToEnd()).toEqual(ended('KEY_ENDED'))
  })

  it('ends when its gateway stops, and resumes at another from its cursor', async () => {
    const third = await startGateway()
    const id = await rentals.rent(renter)
    const query = (after: string) =>
      `subscription { events(${after} filter: { subjectIds: ["ins_${id}"] }) { cursor node { changes { after } } } }`
    const label = (label: string) => first.app.rest(renter, 'PUT', `/instances/${id}/`, { label })
    const last = `{ events(last: 1, filter: { subjectIds: ["ins_${id}"] }) { edges { cursor } } }`
    const [{ cursor }] = (await first.app.graphql(renter, last)).data.events.edges
    // A socket may begin the stream only after the change.
    const stream = await open(transport, third, renter, query(`after: "${cursor}"`))
    await label('one')
    const received = await stream.next()
    third.app.drain()
    expect(await stream.readToEnd()).toEqual(ended('GATEWAY_STOPS'))
    await label('two')
    const resumed = await open(transport, second, renter, query(`after: "${received?.data.events.cursor}"`))
    await label('three')
    const labels = [received, await resumed.next(), await resumed.next()].map(
      result => result?.data.events.node.changes,
    )
    expect(labels).toEqual(['one', 'two', 'three'].map(label => [{ after: label }]))
    await resumed.close()
    await third.server.close()
    await third.app.close()
  })

  it('is refused to a key that has reached its limit of streams', async () => {
    const id = await rentals.rent(renter)
    const key = await first.app.newScopedKey(renter, { api: { instance_read: {} } })
    const many = Array.from({ length: streamLimits.perKey }, () => open(transport, first, key, watchQuery(id)))
    const streams = await Promise.all(many)
    await Promise.all(streams.map(stream => stream.next()))
    const late = await open(transport, first, key, watchQuery(id))
    expect(await late.readToEnd()).toMatchObject([{ errors: [{ extensions: { code: 'TOO_MANY_STREAMS' } }] }])
    for (const stream of streams) await stream.close()
  })
})

describe('a client that stops reading its stream', () => {
  /** Nearly a megabyte per change. If 80 changes were kept, they would take twice the allowed memory. */
  const large = `label ${Array.from({ length: 29 }, (_, index) => `l${index}: launch { env { value } }`).join(' ')}`
  let id: number
  let hasty: Gateway['server']

  beforeAll(async () => {
    id = await rentals.rent(renter, { env: { LONG: 'x'.repeat(32_000) } })
    hasty = await serveApp(first.app, { stalledMs: 1_500 })
  })

  afterAll(() => hasty.close())

  /** Changes the instance 80 times, one change after another. Returns the growth of memory in bytes. */
  async function change(): Promise<number> {
    const before = measureMemory()
    for (let n = 1; n <= 80; n += 1) {
      await first.app.rest(renter, 'PUT', `/instances/${id}/`, { label: `${n}` })
      await first.app.graphql(renter, `{ instance(id: "${id}") { ${large} } }`)
    }
    return measureMemory() - before
  }

  /** Writes more events than a reader may be behind. */
  async function flood(): Promise<void> {
    await first.app.sql(`INSERT INTO events (kind, account_id, instance_id, actor_kind, subject_type, subject_id, created_at)
      SELECT 'INSTANCE_LABEL_CHANGED', account_id, id, 'system', 'Instance', id, created_at FROM instances, generate_series(1, ${maxBufferedEvents + 1})
      WHERE id = ${id}`)
  }

  it('is cut off over SSE, and takes little memory', async () => {
    const socket = connect(hasty.port, '127.0.0.1')
    const body = JSON.stringify({ query: watchQuery(id, large) })
    socket.write(
      `POST /graphql HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${renter}\r\n`,
    )
    socket.write(`Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    socket.pause()
    await expect.poll(() => first.app.countStreams(), { timeout: 5_000 }).toBe(1)
    expect(await change()).toBeLessThan(40_000_000)
    await expect.poll(() => first.app.countStreams(), { timeout: 10_000 }).toBe(0)
    // The server has closed the connection; data in transit still arrives.
    const cut = once(socket, 'close')
    await expect.poll(() => hasty.countConnections(), { timeout: 10_000 }).toBe(0)
    socket.resume()
    await cut
  })

  it('gets the latest state of an instance over a WebSocket once it reads again, and takes little memory', async () => {
    const { socket, say, heard } = await openRawSocket(hasty.url, { headers: { authorization: `Bearer ${renter}` } })
    say({ type: 'connection_init' })
    await expect.poll(() => heard).toHaveLength(1)
    socket.pause()
    say({ type: 'subscribe', id: '1', payload: { query: watchQuery(id, large) } })
    say({
      type: 'subscribe',
      id: '2',
      payload: { query: 'subscription { events { node { id kind } } }' },
    })
    await expect.poll(() => first.app.countStreams(), { timeout: 5_000 }).toBe(2)
    expect(await change()).toBeLessThan(40_000_000)
    await flood()
    // A stream of events cannot skip any, and these are too many.
    await expect.poll(() => first.app.countStreams(), { timeout: 5_000 }).toBe(1)
    socket.resume()
    const isLast = () => JSON.stringify(heard.at(-1)).includes('"label":"80"')
    await expect.poll(isLast, { timeout: 10_000 }).toBe(true)
    socket.terminate()
  })
})
