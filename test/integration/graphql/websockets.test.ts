// GraphQL over WebSockets, with a real socket.

import { once } from 'node:events'
import { connect } from 'node:net'
import { type Client, createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { invalidKeyMessage } from '../../../src/domain/accounts/invalid-key.ts'
import { connectionLimits } from '../../../src/graphql/transport/sockets.ts'
import { socketLimits } from '../../../src/http/sockets.ts'
import { instanceApiKey } from '../../../src/services/accounts/api-keys/identity.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { changesOnly, openRawSocket, sendAtOnce, serveApp, subscribeWebSocket } from '../../support/streams.ts'

let app: TestApp
let server: Awaited<ReturnType<typeof serveApp>>
let rentals: Rentals
let renter: string
const clients: Client[] = []

beforeAll(async () => {
  app = await startApp()
  server = await serveApp(app)
  rentals = rentalsOf(app)
  renter = await app.newKey(null, someCredit)
})

afterAll(async () => {
  for (const client of clients) await client.dispose()
  await server.close()
  await app.close()
})

function createSocketClient(key: string): Client {
  const connectionParams = { authorization: `Bearer ${key}` }
  const url = `${server.url.replace('http', 'ws')}/graphql`
  const client = createClient({ url, webSocketImpl: WebSocket, connectionParams, retryAttempts: 0 })
  clients.push(client)
  return client
}

const watchQuery = (id: number, fields = 'label') =>
  `subscription { instanceChanges(filter: { ids: ["${id}"] }) { ... on InstanceChange { instance { ${fields} } } } }`
const initMessage = (key: string) => ({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } })
const subscribeMessage = (id: string, query: string, more: object = {}) => ({
  type: 'subscribe',
  id,
  payload: { query, ...more },
})
const expectAllClosed = () => expect.poll(() => app.countStreams(), { timeout: 5_000 }).toBe(0)

/** A socket whose key was accepted. */
async function openInitializedSocket(key = renter) {
  const raw = await openRawSocket(server.url)
  raw.say(initMessage(key))
  await expect.poll(() => raw.heard).toEqual([{ type: 'connection_ack' }])
  raw.heard.length = 0
  return raw
}

/** Of every operation that was executed. */
const extensions = { cost: { requested: expect.any(Number), limit: 10_000 } }

const keyNeeded = 'An API key is required: send {"authorization": "Bearer KEY"} as connectionParams.'

describe('a WebSocket', () => {
  it('streams the changes of an instance until the client completes the subscription', async () => {
    const id = await rentals.rent(renter, { label: 'first' })
    const stream = changesOnly(subscribeWebSocket(createSocketClient(renter), watchQuery(id)))
    expect(await stream.next()).toEqual({ data: { instanceChanges: { instance: { label: 'first' } } } })
    await app.rest(renter, 'PUT', `/instances/${id}/`, { label: 'second' })
    expect(await stream.next()).toEqual({ data: { instanceChanges: { instance: { label: 'second' } } } })
    await stream.close()
    await expectAllClosed()
  })

  it('closes its streams when it closes, even a stream that is still opening', async () => {
    const id = await rentals.rent(renter)
    const { say, heard, socket, closed } = await openInitializedSocket()
    say(subscribeMessage('1', watchQuery(id)))
    await expect.poll(() => heard).toHaveLength(2)
    for (const id of ['2', '2', '3']) say({ type: 'complete', id })
    say(subscribeMessage('2', watchQuery(id)))
    say({ type: 'complete', id: '2' })
    say(subscribeMessage('2', watchQuery(id)))
    await expect.poll(() => heard.length).toBeGreaterThan(2)
    socket.terminate()
    await closed
    await expectAllClosed()
  })

  it('accepts the key in the header of its handshake', async () => {
    const headers = { authorization: `Bearer ${renter}` }
    const { say, heard } = await openRawSocket(server.url, { headers })
    say({ type: 'connection_init' })
    await expect.poll(() => heard).toEqual([{ type: 'connection_ack' }])
    say(subscribeMessage('1', '{ viewer { account { credit } } }'))
    await expect
      .poll(() => heard)
      .toContainEqual({
        id: '1',
        type: 'next',
        payload: { data: { viewer: { account: { credit: '100' } } }, extensions },
      })
  })

  it.each([
    ['no key', {}, keyNeeded],
    ['an unknown key', { authorization: `Bearer berth_${'a'.repeat(12)}_${'b'.repeat(40)}` }, invalidKeyMessage],
    ['a key that is no text', { authorization: { Bearer: 1 } }, keyNeeded],
    ['a key alone', { authorization: 'berth_1' }, keyNeeded],
  ])('closes with the reason and without an answer when it sends %s', async (_name, payload, reason) => {
    const { say, heard, closed } = await openRawSocket(server.url)
    say({ type: 'connection_init', payload })
    expect(await closed).toEqual([4403, reason])
    expect(heard).toEqual([])
  })

  it('closes with 4401 when an operation arrives before the key is accepted', async () => {
    const { say, heard, closed } = await openRawSocket(server.url)
    say(subscribeMessage('1', '{ __typename }'))
    expect(await closed).toEqual([4401, 'Unauthorized'])
    expect(heard).toEqual([])
  })

  it('checks the key again for every operation', async () => {
    const key = await app.newScopedKey(renter, { api: { user_read: {} } })
    const { say, heard, closed } = await openInitializedSocket(key)
    say(subscribeMessage('1', '{ viewer { account { name } } }'))
    await expect.poll(() => heard.map(({ type }) => type)).toEqual(['next', 'complete'])
    heard.length = 0
    await app.sql(`UPDATE api_keys SET revoked_at = now() WHERE public_id = '${key.split('_')[1]}'`)
    say(subscribeMessage('2', '{ viewer { account { name } } }'))
    expect(await closed).toEqual([4403, invalidKeyMessage])
    expect(heard).toEqual([])
  })

  it('runs a mutation as HTTP does', async () => {
    const id = await rentals.rent(renter)
    const query = `mutation { updateInstance(input: { id: "${id}", label: "over a socket" }) {
      ... on UpdateInstanceSuccess { instance { label } } } }`
    const { say, heard } = await openInitializedSocket()
    say(subscribeMessage('1', query))
    const payload = { data: { updateInstance: { instance: { label: 'over a socket' } } }, extensions }
    await expect
      .poll(() => heard)
      .toEqual([
        { id: '1', type: 'next', payload },
        { id: '1', type: 'complete' },
      ])
  })

  it.each([
    ['a syntax error', '{'],
    ['an unknown field', '{ nothing }'],
    ['too many levels', `{ viewer { account { apiKeys ${'{ a '.repeat(12)}${'}'.repeat(12)} } } }`],
    ['too many tokens', `{ ${'a '.repeat(2_100)} }`],
    [
      'variables that are nested too deeply',
      '{ __typename }',
      { variables: { a: JSON.parse('['.repeat(30) + ']'.repeat(30)) } },
    ],
    ['two operations and no name', 'query A { __typename } query B { __typename }'],
    ['a variable of another type', 'query ($id: ID!) { instance(id: $id) { id } }', { variables: { id: {} } }],
    ['an id of another type', '{ instance(id: "off_1") { id } }'],
    ['no permission', '{ machine: node(id: "ins_1") { id } }', {}, { api: { user_read: {} } }],
    ['a subscription to the log of an unknown instance', 'subscription { instanceLogs(id: 987654321) { text } }'],
  ])('answers %s as HTTP does', async (_name, query, more = {}, permissions?: object) => {
    const key = permissions ? await app.newScopedKey(renter, permissions as never) : renter
    const { say, heard, socket } = await openInitializedSocket(key)
    say(subscribeMessage('1', query, more))
    await expect.poll(() => heard.length).toBeGreaterThan(0)
    const [{ payload }] = heard as [{ payload: unknown }]
    const accept = query.startsWith('subscription') ? 'text/event-stream' : 'application/json'
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept }
    const body = JSON.stringify({ query, ...more })
    const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })
    const text = (await response.text()).replace(/^[^{]*/, '').replace(/\n.*$/s, '')
    expect(Array.isArray(payload) ? { errors: payload } : payload).toEqual(JSON.parse(text))
    expect(JSON.stringify(payload)).not.toContain('"http"')
    socket.close()
  })

  it.each([
    ['invalid JSON', '{', 4400],
    ['an array', '[]', 4400],
    ['an empty message', '', 4400],
    ['a message of an unknown type', '{"type":"start"}', 4400],
    ['an operation without an id', { type: 'subscribe', payload: { query: '{ a }' } }, 4400],
    ['an operation without a query', { type: 'subscribe', id: '1', payload: {} }, 4400],
    ['a second init', { type: 'connection_init' }, 4429],
    [
      'a message above the size limit',
      subscribeMessage('1', `# ${'a'.repeat(socketLimits.payloadBytes)}\n{ __typename }`),
      1009,
    ],
    ['binary data', Buffer.from([1, 2, 3]), 4400],
  ])('closes without an answer when it receives %s', async (_name, message, code) => {
    const { say, socket, closed, heard } = await openInitializedSocket()
    if (Buffer.isBuffer(message)) socket.send(message)
    else say(message)
    const [closedWith, reason] = await closed
    expect(closedWith).toBe(code)
    expect(reason).toMatch(/^(|Invalid message received|Too many initialisation requests)$/)
    expect(heard).toEqual([])
  })

  it('closes with 1002 when it receives invalid frames', async () => {
    const { socket, closed } = await openInitializedSocket()
    ;(socket as unknown as { _socket: { write: (bytes: Buffer) => void } })._socket.write(
      Buffer.from([0xff, 0xff, 0xff]),
    )
    expect((await closed)[0]).toBe(1002)
    expect(app.logLines.filter(({ level }) => (level as number) >= 50)).toEqual([])
  })

  it('closes with 4406 when the client offers no protocol', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`)
    expect((await once(socket, 'close'))[0]).toBe(4406)
  })

  it('closes with 4408 when no connection_init arrives', async () => {
    const { closed } = await openRawSocket(server.url)
    expect(await closed).toEqual([4408, 'Connection initialisation timeout'])
  })

  it('closes with 1008 when it sends many pings and no connection_init', async () => {
    const { socket, heard, closed } = await openRawSocket(server.url)
    sendAtOnce(socket, '{"type":"ping"}', 500)
    expect(await closed).toEqual([1008, 'Too many messages before a valid key'])
    expect(heard.length).toBeLessThanOrEqual(socketLimits.unknownMessages)
  })

  it('lets others be answered while it sends pings without end', async () => {
    const sockets = await Promise.all(Array.from({ length: 4 }, () => openInitializedSocket()))
    for (const { socket } of sockets) sendAtOnce(socket, '{"type":"ping"}', 20_000)
    const countPongs = () => sockets.reduce((count, { heard }) => count + heard.length, 0)
    await expect.poll(countPongs, { interval: 1 }).toBeGreaterThan(0)
    const begun = countPongs()
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    // An answer takes some turns of the event loop, in each of which each socket may send one pong.
    expect(countPongs() - begun).toBeLessThan(2_000)
    for (const { socket } of sockets) socket.terminate()
  })

  it('drops the connection when the client does not answer the close', async () => {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    const closed = once(socket, 'close')
    const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'
    const protocol = 'Sec-WebSocket-Protocol: graphql-transport-ws\r\n'
    socket.write(
      `GET /graphql HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}${protocol}\r\n`,
    )
    socket.resume()
    const start = performance.now()
    await closed
    expect(performance.now() - start).toBeLessThan(9_000)
  })

  it('refuses an operation above its maximum of running operations', async () => {
    const id = await rentals.rent(renter)
    const { say, heard, socket } = await openInitializedSocket()
    let asked = 0
    const ask = () => say(subscribeMessage(`${asked++}`, watchQuery(id)))
    while (asked <= connectionLimits.operations) ask()
    const refused = () => heard.filter(({ type }) => type === 'error')
    // A busy gateway may have refused some of them.
    const askAgain = () => {
      ask()
      return refused().map(({ payload }) => JSON.stringify(payload))
    }
    await expect
      .poll(askAgain, { timeout: 10_000 })
      .toContainEqual(expect.stringContaining(`${connectionLimits.operations} operations`))
    socket.close()
    await expectAllClosed()
  })

  it('is refused at the maximum number of connections of its key', async () => {
    const key = await app.newScopedKey(renter, { api: {} })
    const sockets = await Promise.all(
      Array.from({ length: connectionLimits.connectionsPerKey }, () => openInitializedSocket(key)),
    )
    const { say, closed } = await openRawSocket(server.url)
    say(initMessage(key))
    expect(await closed).toEqual([4429, 'This key has too many WebSockets open'])
    for (const { socket } of sockets) socket.close()
  })
})

describe('a WebSocket of an account', () => {
  it('is refused at the maximum number of connections of all its keys', async () => {
    const { connectionsPerKey, connectionsPerAccount } = connectionLimits
    const sockets: WebSocket[] = []
    const newKey = () => app.newScopedKey(owner, { api: {} })
    const owner = await app.newKey()
    for (let remaining = connectionsPerAccount; remaining > 0; remaining -= connectionsPerKey) {
      const key = await newKey()
      const more = await Promise.all(
        Array.from({ length: Math.min(remaining, connectionsPerKey) }, () => openInitializedSocket(key)),
      )
      sockets.push(...more.map(({ socket }) => socket))
    }
    const { say, closed } = await openRawSocket(server.url)
    say(initMessage(await newKey()))
    expect(await closed).toEqual([4429, 'This account has too many WebSockets open'])
    sockets.push((await openInitializedSocket()).socket)
    for (const socket of sockets) socket.close()
  })

  it('is refused for the key of an instance', async () => {
    const id = await rentals.rent(renter)
    const { say, heard, closed } = await openRawSocket(server.url)
    say(initMessage(instanceApiKey(createSecrets('a secret of tests'), BigInt(id))))
    expect(await closed).toEqual([4403, 'The key of an instance can open no WebSocket.'])
    expect(heard).toEqual([])
  })
})

describe('a request with an Upgrade header', () => {
  async function send(text: string): Promise<string> {
    const socket = connect(server.port, '127.0.0.1')
    socket.write(text)
    let answer = ''
    for await (const chunk of socket.setEncoding('utf8')) {
      answer += chunk
      if (/\r\n\r\n./s.test(answer)) break
    }
    return answer
  }
  const h2c =
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n'

  it.each([
    ['h2c', h2c, '/api/v0/users/current/', 200],
    ['a WebSocket on another path', 'Connection: Upgrade\r\nUpgrade: websocket\r\n', '/api/v0/users/current/', 200],
    ['h2c on the path of WebSockets', h2c, '/graphql?query={viewer{account{id}}}', 200],
    ['a WebSocket without a handshake', 'Connection: Upgrade\r\nUpgrade: websocket\r\n', '/graphql', 400],
  ])('gets an answer over HTTP: %s', async (_name, headers, path, status) => {
    const key = `Authorization: Bearer ${renter}\r\n`
    const answer = await send(`GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}${key}\r\n`)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })

  it.each([
    ['POST', '/bundles/', { limit: 1 }, /^HTTP\/1.1 200 .*"offers":\[/s],
    ['PUT', '/search/asks', { q: { limit: 1 } }, /^HTTP\/1.1 200 .*"offers":\[/s],
    ['PUT', '/secrets/', { key: 'A' }, /^HTTP\/1.1 400 .*Both 'key' and 'value'/s],
    ['DELETE', '/secrets/', { key: 'NONE' }, /^HTTP\/1.1 400 .*Environment variable not found/s],
  ])('gets an answer to its body: %s %s', async (method, path, input, expected) => {
    const body = JSON.stringify(input)
    const head = `${method} /api/v0${path} HTTP/1.1\r\nHost: a\r\n${h2c}Authorization: Bearer ${renter}\r\n`
    const answer = await send(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    expect(answer).toMatch(expected)
  })

  it('keeps its connection open for further requests', async () => {
    const head = `GET /health HTTP/1.1\r\nHost: a\r\n${h2c}\r\n`
    const socket = connect(server.port, '127.0.0.1').setEncoding('utf8')
    for (let n = 1; n <= 3; n += 1) {
      socket.write(head)
      expect((await once(socket, 'data'))[0]).toMatch(/^HTTP\/1.1 200 .*"ok"/s)
    }
    socket.destroy()
  })
})
