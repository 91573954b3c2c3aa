// The HTTP server with two places, one of them for each owner, and a handler that the tests hold up.

import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createAdmission } from '../../../src/http/admission/admission.ts'
import { createAdmitRequest } from '../../../src/http/admission/requests.ts'
import { createLog } from '../../../src/http/log.ts'
import { createRequestLog } from '../../../src/http/request-log.ts'
import { createHttpServer } from '../../../src/http/server.ts'

let server: ReturnType<typeof createHttpServer>
let port: number
let admission: ReturnType<typeof createAdmission>
/** The paths of the requests that run, with what ends each. */
let running: Map<string, (answer: Response) => void>
let lines: Record<string, unknown>[]
let bodies: string[]

beforeEach(async () => {
  running = new Map()
  lines = []
  bodies = []
  admission = createAdmission({ places: 2, placesOfOwner: 1, waiting: 10 })
  const log = createLog('info', { write: line => void lines.push(JSON.parse(line)) })
  const admit = createAdmitRequest({
    admission,
    begin: createRequestLog(log),
    ownerOf: ({ headers }) => String(headers['x-owner']),
    refusals: { graphql: '{"errors":[]}', rest: '{"success":false}' },
  })
  const handle = async (request: Request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/health') return new Response('ok')
    bodies.push(await request.text())
    return await new Promise<Response>(resolve => running.set(pathname, resolve))
  }
  server = createHttpServer(handle, { admit }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterEach(() => {
  server.close()
  server.closeAllConnections()
})

type Answer = { status: number; headers: IncomingMessage['headers']; body: string; ms: number }

async function ask(path: string, owner: string, body?: string): Promise<Answer> {
  const start = performance.now()
  const headers = { 'x-owner': owner }
  const outgoing = send({ port, path, headers, method: body === undefined ? 'GET' : 'POST', agent: false })
  outgoing.end(body)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const { statusCode = 0, headers: answered } = incoming
  const text = (await incoming.toArray()).join('')
  return { status: statusCode, headers: answered, body: text, ms: performance.now() - start }
}

const isRunning = (...paths: string[]) => expect.poll(() => [...running.keys()]).toEqual(paths)
const finish = (path: string) => running.get(path)?.(new Response('done'))

describe('a request that gets no place', () => {
  it('is refused within a second, in the shape of its face, and logged', async () => {
    const held = ask('/api/v0/held', 'a')
    await isRunning('/api/v0/held')
    const [rest, graphql] = await Promise.all([ask('/api/v0/more', 'a', '{}'), ask('/graphql', 'a', '{}')])
    for (const { status, headers, ms } of [rest, graphql]) {
      expect(status).toBe(503)
      expect(headers).toMatchObject({ 'retry-after': '1', 'content-type': 'application/json' })
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
      expect(ms).toBeLessThan(2_000)
    }
    expect([rest.body, graphql.body]).toEqual(['{"success":false}', '{"errors":[]}'])
    expect(lines).toContainEqual(
      expect.objectContaining({ path: '/api/v0/more', status: 503, requestId: rest.headers['x-request-id'] }),
    )
    finish('/api/v0/held')
    expect((await held).status).toBe(200)
    expect(admission.figures()).toMatchObject({ running: 0, waiting: 0, refused: 2 })
  })

  it('is given up when its client disconnects, and leaves its place to the next one', async () => {
    const held = ask('/held', 'a')
    await isRunning('/held')
    const gone = send({ port, path: '/gone', headers: { 'x-owner': 'a' }, agent: false }).on('error', () => {})
    gone.end()
    await expect.poll(() => admission.figures().waiting).toBe(1)
    gone.destroy()
    const next = ask('/next', 'a')
    await expect.poll(() => admission.figures().waiting).toBe(2)
    finish('/held')
    await isRunning('/held', '/next')
    finish('/next')
    expect([(await held).status, (await next).status]).toEqual([200, 200])
    expect(lines).toContainEqual(expect.objectContaining({ path: '/gone', status: 499 }))
  })
})

describe('a place', () => {
  it('is left to other owners by one that has its share', async () => {
    const first = ask('/a1', 'a')
    await isRunning('/a1')
    const second = ask('/a2', 'a')
    await expect.poll(() => admission.figures().waiting).toBe(1)
    const third = ask('/a3', 'a')
    await expect.poll(() => admission.figures().waiting).toBe(2)
    const other = ask('/b', 'b')
    await isRunning('/a1', '/b')
    for (const path of ['/a1', '/b']) finish(path)
    expect((await other).status).toBe(200)
    await isRunning('/a1', '/b', '/a2')
    finish('/a2')
    await isRunning('/a1', '/b', '/a2', '/a3')
    finish('/a3')
    expect((await Promise.all([first, second, third])).map(({ status }) => status)).toEqual([200, 200, 200])
  })

  it('is free again once a stream has begun', async () => {
    const stream = send({ port, path: '/stream', headers: { 'x-owner': 'a' }, agent: false })
    stream.end()
    await isRunning('/stream')
    running.get('/stream')?.(new Response(new ReadableStream({ start: control => control.enqueue('first') })))
    await once(stream, 'response')
    expect(admission.figures().running).toBe(0)
    stream.destroy()
  })

  it('is not held by a client that sends slowly', async () => {
    const head = 'POST /slow HTTP/1.1\r\nhost: berth.test\r\nx-owner: a\r\ncontent-length: 10\r\n\r\n12345'
    const socket = connect(port, '127.0.0.1', () => socket.write(head))
    await once(server, 'request')
    const answer = ask('/quick', 'a', '{"some":"body"}')
    await isRunning('/quick')
    finish('/quick')
    expect((await answer).status).toBe(200)
    expect(admission.figures()).toMatchObject({ running: 0, waiting: 0, refused: 0 })
    // Its body arrives whole, whenever that is.
    socket.write('67890')
    await isRunning('/quick', '/slow')
    expect(bodies).toEqual(['{"some":"body"}', '1234567890'])
    finish('/slow')
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1.1 200/)
    socket.destroy()
  })

  it('is free again when its client disconnects before it has sent all', async () => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write('POST /gone HTTP/1.1\r\nhost: berth.test\r\nx-owner: a\r\ncontent-length: 10\r\n\r\n1'),
    )
    await expect.poll(() => new Promise<number>(resolve => server.getConnections((_, count) => resolve(count)))).toBe(1)
    socket.destroy()
    await expect.poll(() => lines).toContainEqual(expect.objectContaining({ path: '/gone', status: 499 }))
    expect(admission.figures()).toMatchObject({ running: 0, waiting: 0 })
  })
})

it('health checks need no place', async () => {
  const held = [ask('/a', 'a'), ask('/b', 'b')]
  await expect.poll(() => running.size).toBe(2)
  expect((await ask('/health', 'a')).status).toBe(200)
  for (const path of ['/a', '/b']) finish(path)
  await Promise.all(held)
})
