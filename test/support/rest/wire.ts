// Clients of the REST face, whose requests are put on a socket byte for byte, and what they read of the answers.

import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { expect } from 'vitest'
import { createHttpServer } from '../../../src/http/server.ts'
import { startApp, type TestApp, type TestAppOptions } from '../app.ts'
import { listMachines, type MachineAttributes } from '../factories.ts'
import { someCredit } from '../instances/rentals.ts'

// biome-ignore lint/suspicious/noExplicitAny: whatever the client reads
export type WireAnswer = { status: number; headers: Record<string, string>; text: string; body: any }

/** How a client asks, whatever it asks for. */
export type ClientProfile = {
  agent: string
  key?: string
  /** Where it writes the key. */
  keyIn?: 'header' | 'url' | 'both'
  /** Headers of every request. */
  headers?: Record<string, string>
  /** Headers of requests with a body. */
  bodyHeaders?: Record<string, string>
  /** Whether it says that there is no body, where there is none. */
  saysEmpty?: boolean
  /** Whether it sends bodies in chunks, without saying how long they are. */
  chunked?: boolean
}

type SendRequest = (path: string, body?: object | string) => Promise<WireAnswer>
export type Client = Record<'get' | 'post' | 'put' | 'delete', SendRequest>

export type WireServer = {
  app: TestApp
  origin: string
  /** A client as it is. */
  createClient: (manner: ClientProfile) => Client
  /** A key of a new account that has credit. */
  newKey: () => Promise<string>
  /** Puts machines on the market. */
  listMachines: (...machines: Partial<MachineAttributes>[]) => Promise<void>
  /** Asks again and again while the machines work, until the answer will do. */
  pollUntil: (ask: () => Promise<WireAnswer>, enough: (answer: WireAnswer) => boolean) => Promise<WireAnswer>
  /** What is under the link of an answer, for somebody without a key. */
  readLinkedResult: (answer: WireAnswer) => Promise<string>
  close: () => Promise<void>
}

export async function startWireServer(options: TestAppOptions = {}): Promise<WireServer> {
  const app = await startApp(options)
  const bugs: unknown[] = []
  const recordBug = (fault: unknown) => {
    bugs.push(fault)
    throw fault
  }
  const server = createHttpServer(request => app.fetch(request).catch(recordBug), { upgrade: app.upgrade })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`

  async function send(
    manner: ClientProfile,
    method: string,
    path: string,
    body?: object | string,
  ): Promise<WireAnswer> {
    const answer = parseAnswer(await exchange(port, requestBytes(host, manner, method, path, body)))
    if (bugs.length > 0) throw bugs.shift()
    expectCommonRules(answer)
    return answer
  }

  return {
    app,
    origin: `http://${host}`,
    createClient: manner => ({
      get: (path, body) => send(manner, 'GET', path, body),
      post: (path, body) => send(manner, 'POST', path, body),
      put: (path, body) => send(manner, 'PUT', path, body),
      delete: (path, body) => send(manner, 'DELETE', path, body),
    }),
    newKey: () => app.newKey(null, someCredit),
    listMachines: (...machines) =>
      listMachines(
        app.operations,
        machines.map(machine => ({ machine })),
      ),
    async pollUntil(ask, enough) {
      for (let turn = 1; turn <= 40; turn += 1) {
        const answer = await ask()
        if (enough(answer)) return answer
        await app.runUntilIdle()
        app.clock.advance(30_000)
      }
      throw new Error(`It never was so: ${(await ask()).text}`)
    },
    async readLinkedResult({ body }) {
      expect(body).toMatchObject({ success: true, result_url: expect.any(String), msg: expect.any(String) })
      expect(new URL(body.result_url).origin).toBe(`http://${host}`)
      const found = await send({ agent: 'anybody' }, 'GET', body.result_url.replace(`http://${host}`, ''))
      expect(found.status).toBe(200)
      return found.text
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await app.close()
    },
  }
}

/** A request as it is on the wire. A path without a version is one of v0. */
function requestBytes(
  host: string,
  manner: ClientProfile,
  method: string,
  path: string,
  body?: object | string,
): string {
  const { agent, key, keyIn = 'header', headers = {}, bodyHeaders = {} } = manner
  const text = typeof body === 'object' ? JSON.stringify(body) : body
  const versioned = path.startsWith('/api/') ? path : `/api/v0${path}`
  const inUrl = key !== undefined && keyIn !== 'header'
  const target = inUrl ? `${versioned}${versioned.includes('?') ? '&' : '?'}api_key=${key}` : versioned
  const framed = frameBody(manner, text)
  const lines = Object.entries({
    Host: host,
    'User-Agent': agent,
    ...(key !== undefined && keyIn !== 'url' ? { Authorization: `Bearer ${key}` } : {}),
    ...headers,
    ...(text === undefined ? {} : bodyHeaders),
    ...framed.headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${framed.body}`
}

/** A body, and what is said of its length. */
function frameBody({ saysEmpty, chunked }: ClientProfile, text: string | undefined): { headers: object; body: string } {
  if (text === undefined) return { headers: saysEmpty ? { 'Content-Length': 0 } : {}, body: '' }
  const length = Buffer.byteLength(text)
  if (!chunked) return { headers: { 'Content-Length': length }, body: text }
  const chunks = length > 0 ? `${length.toString(16)}\r\n${text}\r\n` : ''
  return { headers: { 'Transfer-Encoding': 'chunked' }, body: `${chunks}0\r\n\r\n` }
}

/** What is answered to these bytes: all of it, and nothing that would be another answer. */
async function exchange(port: number, bytes: string): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1')
  let received = Buffer.alloc(0)
  socket.setTimeout(10_000, () => socket.destroy(new Error(`No whole answer: ${received}`)))
  socket.on('data', data => {
    received = Buffer.concat([received, data])
    if (isComplete(received)) socket.destroy()
  })
  const closed = once(socket, 'close')
  socket.write(bytes)
  await closed
  return received
}

function splitHead(received: Buffer): [head: string, body: Buffer] | undefined {
  const end = received.indexOf('\r\n\r\n')
  return end < 0 ? undefined : [received.toString('latin1', 0, end), received.subarray(end + 4)]
}

function isComplete(received: Buffer): boolean {
  const [head, body] = splitHead(received) ?? []
  if (!head || !body) return false
  const [, length] = /^content-length: *(\d+)/im.exec(head) ?? []
  return length === undefined ? body.subarray(-5).equals(Buffer.from('0\r\n\r\n')) : body.length >= Number(length)
}

function parseAnswer(received: Buffer): WireAnswer {
  const [head = '', bytes = Buffer.alloc(0)] = splitHead(received) ?? []
  const [first = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map(line => [line.split(':')[0]?.toLowerCase(), line.replace(/^[^:]*: */, '')]),
  )
  const text = (headers['transfer-encoding'] === 'chunked' ? decodeChunks(bytes) : bytes).toString('utf8')
  const body = headers['content-type'] === 'application/json' ? JSON.parse(text) : undefined
  return { status: Number(first.split(' ')[1]), headers, text, body }
}

function decodeChunks(bytes: Buffer): Buffer {
  const end = bytes.indexOf('\r\n')
  const size = Number.parseInt(bytes.toString('latin1', 0, end), 16)
  if (!size) return Buffer.alloc(0)
  return Buffer.concat([bytes.subarray(end + 2, end + 2 + size), decodeChunks(bytes.subarray(end + 4 + size))])
}

/** What every client relies on, whatever it asks: no redirect, JSON without a charset, and failures in one shape. */
function expectCommonRules({ status, headers, text, body }: WireAnswer): void {
  expect(status === 200 || (status >= 400 && status !== 500), `${status} ${text}`).toBe(true)
  expect(headers['content-type']).toMatch(
    status === 200 ? /^(application\/json|text\/plain; charset=utf-8)$/ : /^application\/json$/,
  )
  if (status === 200) return
  expect(body).toMatchObject({ success: false, error: expect.stringMatching(/./), msg: expect.stringMatching(/./) })
}
