import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { maxBodyBytes, readBody } from '../../../src/http/body.ts'
import { unansweredPerConnection } from '../../../src/http/limits/pipelining.ts'
import { listen, reserveAddress } from '../../../src/http/listen.ts'
import { createHttpServer } from '../../../src/http/server.ts'

let server: Server
let reachedPaths: string[] = []

beforeAll(async () => {
  server = createHttpServer(async request => {
    const { pathname } = new URL(request.url)
    reachedPaths.push(pathname)
    if (pathname === '/bug') throw new Error('a secret')
    if (pathname === '/slow')
      return new Response(new ReadableStream({ start: stream => stream.enqueue(new Uint8Array(9)) }))
    if (pathname === '/body') return await readBody(request).then(answerOutcome, answerOutcome)
    return new Response('{}', { headers: { 'content-type': 'application/json' } })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

const answerOutcome = (outcome: string | Error) =>
  Response.json({ msg: outcome instanceof Error ? outcome.message : outcome })

afterAll(() => {
  server.close()
  server.closeAllConnections()
})

/** Sends bytes, and returns the answer up to `end` or until the server is silent or closes. */
async function sendBytes(bytes: string, end = '"msg"'): Promise<{ status: number | undefined; text: string }> {
  reachedPaths = []
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.setEncoding('utf8').setTimeout(1_000, () => socket.destroy())
  socket.on('error', () => {})
  let text = ''
  socket.on('data', data => {
    text += data
    if (text.includes('\r\n0\r\n\r\n') || text.includes(end)) socket.end()
  })
  socket.write(bytes)
  await once(socket, 'close')
  const [, status] = /^HTTP\/1\.1 (\d+)/.exec(text) ?? []
  return { status: status === undefined ? undefined : Number(status), text }
}

describe('the HTTP server', () => {
  it.each([
    ['a host with a port', 'Host: 127.0.0.1:4000'],
    ['an IPv6 host', 'Host: [::1]:4000'],
    ['one key', 'Host: x\r\nAuthorization: Bearer a'],
  ])('accepts %s', async (_what, headers) => {
    expect((await sendBytes(`GET /x HTTP/1.1\r\n${headers}\r\n\r\n`)).status).toBe(200)
    expect(reachedPaths).toEqual(['/x'])
  })

  it.each([
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['a host with a space', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n'],
    ['a host that is a path', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    ['a host that is a user', 'GET / HTTP/1.1\r\nHost: user@a\r\n\r\n'],
    ['a host with two ports', 'GET / HTTP/1.1\r\nHost: a:b:c\r\n\r\n'],
    ['a host with an invalid port', 'GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n'],
    ['half an IPv6 host', 'GET / HTTP/1.1\r\nHost: [\r\n\r\n'],
    ['a host of colons', 'GET / HTTP/1.1\r\nHost: :::\r\n\r\n'],
    ['an empty host', 'GET / HTTP/1.1\r\nHost:\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['two keys', 'GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n'],
    ['a whole URL', 'GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a star', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    [
      'a length alongside chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a header with NUL', 'GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n'],
    ['HTTP 0.9', 'GET /\r\n\r\n'],
  ])('refuses %s', async (_what, bytes) => {
    const { status } = await sendBytes(bytes)
    expect([400, 505]).toContain(status)
    expect(reachedPaths).toEqual([])
  })

  it('explains a refusal in the failure format', async () => {
    const { text } = await sendBytes('GET / HTTP/1.1\r\nHost: a b\r\n\r\n')
    expect(text).toContain(
      '{"success":false,"error":"bad_request","msg":"The request must have exactly one Host header, with a host name."}',
    )
  })

  it.each([
    [400, 'bad_request', 'GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n'],
    [400, 'bad_request', 'nonsense\r\n\r\n'],
    [400, 'bad_request', 'GET / HTTP/1.1\r\n\r\n'],
    [417, 'expectation_failed', 'POST / HTTP/1.1\r\nHost: a\r\nExpect: x\r\nContent-Length: 0\r\n\r\n'],
    [431, 'headers_too_large', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`],
  ])('refuses a request with %i %s as JSON', async (expected, error, bytes) => {
    const { status, text } = await sendBytes(bytes)
    const [head = '', body = ''] = text.split('\r\n\r\n')
    expect(status).toBe(expected)
    expect(head.toLowerCase()).toContain('content-type: application/json')
    expect(JSON.parse(/\{.*\}/.exec(body)?.[0] ?? '')).toEqual({ success: false, error, msg: expect.any(String) })
    expect(reachedPaths).toEqual([])
  })

  it('does not write an error into a response that has begun', async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
    let text = ''
    socket.on('error', () => {})
    socket.on('data', data => {
      if (text === '') socket.write('nonsense\r\n\r\n')
      text += data
    })
    socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(socket, 'close')
    expect(text).toMatch(/^HTTP\/1\.1 200/)
    expect(text).not.toContain('bad_request')
  })

  it('accepts headers up to 16 KB', async () => {
    const withHeaders = (size: number) => `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(size)}\r\n\r\n`
    expect((await sendBytes(withHeaders(15_000))).status).toBe(200)
    expect((await sendBytes(withHeaders(17_000))).status).toBe(431)
  })
})

describe('an address to listen on', () => {
  const attempt = (port: number, host: string) =>
    listen(
      createHttpServer(async () => new Response()),
      port,
      host,
    ).catch(({ message }: Error) => message)

  it('is refused if its port is in use, with a message that names the port', async () => {
    const { port } = server.address() as AddressInfo
    const message = `Port ${port} on 127.0.0.1 is in use. Stop the program that uses it, or set PORT to another port.`
    expect(await attempt(port, '127.0.0.1')).toBe(message)
    await expect(reserveAddress(port, '127.0.0.1')).rejects.toThrow(message)
  })

  it.each(['nowhere.invalid', '192.0.2.1', '2001:db8::1'])(
    'is refused if it is not an address of this machine: %s',
    async host => {
      const message = `HOST is ${host}, which is not an address of this machine. Set it to one, such as 127.0.0.1 or 0.0.0.0.`
      expect(await attempt(0, host)).toBe(message)
    },
  )

  it('is still free after a check', async () => {
    const free = createHttpServer(async () => new Response())
    await listen(free, 0, '127.0.0.1')
    const { port } = free.address() as AddressInfo
    free.close()
    await once(free, 'close')
    await reserveAddress(port, '127.0.0.1')
    await reserveAddress(port, '127.0.0.1')
  })
})

it('hides the details of a bug', async () => {
  const { status, text } = await sendBytes('GET /bug HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(status).toBe(500)
  expect(text).toContain('content-type: application/json')
  expect(text).toContain(
    '{"success":false,"error":"internal_error","msg":"The gateway failed to process the request."}',
  )
  expect(text).not.toContain('secret')
})

it('refuses a body that is too large, even without a declared length', async () => {
  const head = 'POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
  const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
  const { text } = await sendBytes(`${head}${chunk.repeat(100)}0\r\n\r\n`)
  expect(text).toContain(`"The body is larger than ${maxBodyBytes} bytes."`)
  // Some clients read no response before they have sent the whole body.
  await sendBytes(`${head}${chunk.repeat(100)}0\r\n\r\nGET /after HTTP/1.1\r\nHost: a\r\n\r\n`, '\r\n0\r\n\r\n')
  expect(reachedPaths).toEqual(['/body', '/after'])
})

it.each(['TRACE / HTTP/1.1', 'GET //[ HTTP/1.1', 'GET /%zz HTTP/1.1'])('serves %s', async line => {
  expect((await sendBytes(`${line}\r\nHost: a\r\n\r\n`)).status).toBe(200)
})

it('has a timeout or a limit for every phase of a connection', () => {
  expect(server).toMatchObject({
    headersTimeout: 5_000,
    requestTimeout: 15_000,
    keepAliveTimeout: 5_000,
    maxRequestsPerSocket: 1_000,
  })
})

it.each([
  ['request', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}'],
  ['upgrade', 'GET /graphql HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n'],
])('serves the %s that arrived while the gateway stood still', async (_, bytes) => {
  const upgrade = (_request: IncomingMessage, socket: Duplex) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n')
    setTimeout(() => socket.end('served'), 100)
  }
  const stalledServer = createHttpServer(async () => new Response('served'), { upgrade })
  stalledServer.headersTimeout = 300
  stalledServer.listen(0, '127.0.0.1')
  await once(stalledServer, 'listening')
  const socket = connect((stalledServer.address() as AddressInfo).port, '127.0.0.1')
  await Promise.all([once(socket, 'connect'), once(stalledServer, 'connection')])
  // After an immediate, timers come before sockets. The server looks for late requests every second.
  await new Promise(setImmediate)
  socket.write(bytes)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000)
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 (200|101) .*served/s)
  stalledServer.close()
})

const pipelined = (count: number, last = 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n') =>
  'GET /x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count - 1) + last

it('answers the requests that a connection may send at once', async () => {
  const last = 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  const { text } = await sendBytes(pipelined(unansweredPerConnection, last), 'never')
  expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(unansweredPerConnection)
  expect(reachedPaths).toHaveLength(unansweredPerConnection)
})

it('closes a connection that sends more requests than that', async () => {
  const { text } = await sendBytes(pipelined(500), 'never')
  expect(text).toBe('')
  expect(reachedPaths.length).toBeLessThanOrEqual(unansweredPerConnection)
})

it('closes a connection soon after its refusal, even if the client does not', async () => {
  const impatientServer = createHttpServer(async () => new Response())
  impatientServer.headersTimeout = 300
  impatientServer.listen(0, '127.0.0.1')
  await once(impatientServer, 'listening')
  const { port } = impatientServer.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(String(answer)).toMatch(/^HTTP\/1\.1 408 /)
  const countConnections = () =>
    new Promise<number>(resolve => impatientServer.getConnections((_error, count) => resolve(count)))
  await expect.poll(countConnections, { timeout: 15_000 }).toBe(0)
  socket.destroy()
  impatientServer.close()
})

describe('a server that has all connections that it accepts', () => {
  async function startFull() {
    const small = createHttpServer(
      async request => {
        if (new URL(request.url).pathname === '/wait') await new Promise(() => {})
        return new Response('{}')
      },
      { connections: 3 },
    ).listen(0, '127.0.0.1')
    await once(small, 'listening')
    const sockets: Socket[] = []
    const closed: number[] = []
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      small.close()
    })
    return {
      closed,
      /** Connects, and sends what the server then has read. Returns its answer, if it gives one. */
      async open(bytes = '', hasAnswer = false): Promise<string> {
        const arrived = once(small, 'connection') as Promise<[Socket]>
        const socket = connect((small.address() as AddressInfo).port, '127.0.0.1')
        const index = sockets.push(socket) - 1
        socket.on('error', () => {}).on('close', () => closed.push(index))
        socket.write(bytes)
        const [accepted] = await arrived
        if (hasAnswer) return String((await once(socket, 'data'))[0])
        await expect.poll(() => accepted.bytesRead, { timeout: 10_000 }).toBe(bytes.length)
        return ''
      },
    }
  }
  const head = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`

  it('closes the oldest without a request in favor of a new one', async () => {
    const { open, closed } = await startFull()
    await open(head('/wait'))
    await open()
    await open('GET / HT')
    expect(await open(head('/'), true)).toMatch(/^HTTP\/1\.1 200/)
    expect(closed).toEqual([1])
    await open()
    await expect.poll(() => closed).toEqual([1, 2])
  })

  it('closes an idle one, and then one whose request is incomplete', async () => {
    const { open, closed } = await startFull()
    await open(head('/wait', 'Content-Length: 5\r\n'))
    await open(head('/wait'))
    expect(await open(head('/'), true)).toMatch(/^HTTP\/1\.1 200/)
    await open(head('/wait'))
    await expect.poll(() => closed).toEqual([2])
    await open(head('/wait'))
    await expect.poll(() => closed).toEqual([2, 0])
  })

  it('refuses a new one while all have requests that it answers', async () => {
    const { open, closed } = await startFull()
    for (let busy = 0; busy < 3; busy += 1) await open(head('/wait'))
    await open().catch(() => {})
    await expect.poll(() => closed).toEqual([3])
  })
})

it('closes a connection that never finishes its headers', async () => {
  const impatientServer = createHttpServer(async () => new Response())
  impatientServer.headersTimeout = 300
  impatientServer.listen(0, '127.0.0.1')
  await once(impatientServer, 'listening')
  const socket = connect((impatientServer.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ')
  let text = ''
  socket.setEncoding('utf8').on('data', data => {
    text += data
  })
  const start = performance.now()
  await once(socket, 'close')
  expect(performance.now() - start).toBeLessThan(4_000)
  expect(text).toMatch(/^HTTP\/1\.1 408 .*"error":"request_timeout"/s)
  impatientServer.close()
})
