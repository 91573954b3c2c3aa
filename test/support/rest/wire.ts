// REST clients whose requests are written to a socket byte for byte, and their answers.

import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { expect } from 'vitest'
import { createHttpServer } from '../../../src/http/server.ts'
import { startApp, type TestApp, type TestAppOptions } from '../app.ts'
import { listMachines, type MachineAttributes } from '../factories.ts'
import { someCredit } from '../instances/rentals.ts'

// biome-ignore lint/suspicious/noExplicitAny: the shape depends on the request
export type WireAnswer = { status: number; headers: Record<string, string>; text: string; body: any }

/** How a client writes its requests. */
export type ClientProfile = {
  agent: string
  key?: string
  /** Where the client sends the key. */
  keyIn?: 'header' | 'url' | 'both'
  /** Headers of every request. */
  headers?: Record<string, string>
  /** Headers of requests with a body. */
  bodyHeaders?: Record<string, string>
  /** Whether the client sends Content-Length: 0 without a body. */
  saysEmpty?: boolean
  /** Whether the client sends bodies in chunks, without Content-Length. */
  chunked?: boolean
}

type SendRequest = (path: string, body?: object | string) => Promise<WireAnswer>
export type Client = Record<'get' | 'post' | 'put' | 'delete', SendRequest>

export type WireServer = {
  app: TestApp
  origin: string
  /** Creates a client that writes requests in this way. */
  createClient: (profile: ClientProfile) => Client
  /** Returns a key of a new account with credit. */
  newKey: () => Promise<string>
  /** Puts machines on the market. */
  listMachines: (...machines: Partial<MachineAttributes>[]) => Promise<void>
  /** Repeats a request while the machines work, until `enough` accepts the answer. */
  pollUntil: (ask: () => Promise<WireAnswer>, enough: (answer: WireAnswer) => boolean) => Promise<WireAnswer>
  /** Reads the `result_url` of an answer without a key. */
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
  const origin = `http://127.0.0.1:${port}`
  const throwBugs = () => {
    if (bugs.length > 0) throw bugs.shift()
  }

  return {
    app,
    origin,
    createClient: profile => createWireClient(origin, profile, throwBugs),
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
      throw new Error(`No answer was accepted; the last answer is ${(await ask()).text}`)
    },
    async readLinkedResult({ body }) {
      expect(body).toMatchObject({ success: true, result_url: expect.any(String), msg: expect.any(String) })
      expect(new URL(body.result_url).origin).toBe(origin)
      const anybody = createWireClient(origin, { agent: 'anybody' }, throwBugs)
      const found = await anybody.get(body.result_url.replace(origin, ''))
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

/** A client of any gateway. `afterEach` is called after each answer. */
export function createWireClient(origin: string, profile: ClientProfile, afterEach = () => {}): Client {
  const { host, port } = new URL(origin)
  const send =
    (method: string): SendRequest =>
    async (path, body) => {
      const answer = parseAnswer(await exchange(Number(port), requestBytes(host, profile, method, path, body)))
      afterEach()
      expectCommonRules(answer)
      return answer
    }
  return { get: send('GET'), post: send('POST'), put: send('PUT'), delete: send('DELETE') }
}

/** The bytes of a request. A path without a version belongs to v0. */
function requestBytes(
  host: string,
  profile: ClientProfile,
  method: string,
  path: string,
  body?: object | string,
): string {
  const { agent, key, keyIn = 'header', headers = {}, bodyHeaders = {} } = profile
  const text = typeof body === 'object' ? JSON.stringify(body) : body
  const versioned = path.startsWith('/api/') ? path : `/api/v0${path}`
  const inUrl = key !== undefined && keyIn !== 'header'
  const target = inUrl ? `${versioned}${versioned.includes('?') ? '&' : '?'}api_key=${key}` : versioned
  const framed = frameBody(profile, text)
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

/** A body and the headers for its length. */
function frameBody({ saysEmpty, chunked }: ClientProfile, text: string | undefined): { headers: object; body: string } {
  if (text === undefined) return { headers: saysEmpty ? { 'Content-Length': 0 } : {}, body: '' }
  const length = Buffer.byteLength(text)
  if (!chunked) return { headers: { 'Content-Length': length }, body: text }
  const chunks = length > 0 ? `${length.toString(16)}\r\n${text}\r\n` : ''
  return { headers: { 'Transfer-Encoding': 'chunked' }, body: `${chunks}0\r\n\r\n` }
}

/** Sends bytes and returns all bytes received until the answer is complete. */
async function exchange(port: number, bytes: string): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1')
  let received = Buffer.alloc(0)
  socket.setTimeout(10_000, () => socket.destroy(new Error(`The answer is incomplete: ${received}`)))
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

/** Rules for every answer: no redirect, JSON without a charset, and failures of one shape. */
function expectCommonRules({ status, headers, text, body }: WireAnswer): void {
  expect(status === 200 || (status >= 400 && status !== 500), `${status} ${text}`).toBe(true)
  expect(headers['content-type']).toMatch(
    status === 200 ? /^(application\/json|text\/plain; charset=utf-8)$/ : /^application\/json$/,
  )
  if (status === 200) return
  expect(body).toMatchObject({ success: false, error: expect.stringMatching(/./), msg: expect.stringMatching(/./) })
}
