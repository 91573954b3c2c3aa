// Reads subscriptions as clients do.

import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Client } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { App } from '../../src/app.ts'
import { createHttpServer, type ServerOptions } from '../../src/http/server.ts'

export type Result = {
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the test's query
  data?: any
  errors?: { message: string; extensions: Record<string, unknown> }[]
}

export type Subscription = {
  status: number
  /** The next result; undefined once the stream is complete. Throws if the stream breaks off. */
  next(): Promise<Result | undefined>
  /** All remaining results. */
  readToEnd(): Promise<Result[]>
  close(): Promise<void>
}

type Fetch = (request: Request) => Promise<Response>

export type SseOptions = { url?: string; method?: 'GET' | 'POST'; headers?: Record<string, string> }

/** Subscribes over Server-Sent Events. */
export async function subscribeSse(
  fetch: Fetch,
  key: string,
  query: string,
  { url = 'http://berth.test/graphql', method = 'POST', headers = {} }: SseOptions = {},
): Promise<Subscription> {
  const all = {
    accept: 'text/event-stream',
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    ...headers,
  }
  const closing = new AbortController()
  const { signal } = closing
  const response = await fetch(
    method === 'GET'
      ? new Request(`${url}?query=${encodeURIComponent(query)}`, { headers: all, signal })
      : new Request(url, { method, headers: all, signal, body: JSON.stringify({ query }) }),
  )
  // Start to read at once: the client closes the connection of a response that no code reads.
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const messages = readMessages(reader)
  const next = async () => {
    const { value } = await messages.next()
    return value && JSON.parse(value)
  }
  return {
    status: response.status,
    next,
    async readToEnd() {
      const results: Result[] = []
      for (let result = await next(); result; result = await next()) results.push(result)
      return results
    },
    async close() {
      // Depending on the client, either of the two closes the connection.
      closing.abort()
      void reader.cancel().catch(() => {})
    },
  }
}

/** A stream of `instanceChanges` that selects fields of changes alone, without the item that says that it has caught up. */
export function changesOnly<Stream extends Omit<Subscription, 'status'>>(stream: Stream): Stream {
  const isChange = ({ data }: Result) => !data?.instanceChanges || Object.keys(data.instanceChanges).length > 0
  return {
    ...stream,
    async next() {
      let result = await stream.next()
      while (result && !isChange(result)) result = await stream.next()
      return result
    },
    readToEnd: async () => (await stream.readToEnd()).filter(isChange),
  }
}

/** Like `fetch`, but without its connection pool: the pool loses streams when a test forces garbage collections. */
export async function fetchWithoutPool(original: Request): Promise<Response> {
  const { method, signal } = original
  const headers = Object.fromEntries(original.headers)
  const outgoing = request(original.url, { method, headers, agent: false })
  outgoing.end(await original.text())
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      incoming.on('data', chunk => controller.enqueue(chunk))
      incoming.on('error', error => controller.error(error))
      incoming.on('end', () => controller.close())
    },
    cancel: () => void incoming.destroy(),
  })
  signal.addEventListener('abort', () => incoming.destroy())
  return new Response(body, { status: incoming.statusCode ?? 0 })
}

/** The data of every `next` message, until `complete`. */
/** The results of a stream of Server-Sent Events, as JSON. */
export async function* readMessages(body: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string, undefined> {
  let text = ''
  const decoder = new TextDecoder()
  for (let part = await body.read(); !part.done; part = await body.read()) {
    text += decoder.decode(part.value, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() as string
    for (const block of blocks) {
      const [event, data] = ['event', 'data'].map(name => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1])
      if (event === 'complete') return
      if (event === 'next') yield data as string
    }
  }
  throw new Error('The stream broke off.')
}

/** Subscribes over the client's WebSocket. */
export function subscribeWebSocket(client: Client, query: string): Omit<Subscription, 'status'> {
  const results = client.iterate({ query })
  const next = async () => (await results.next()).value as Result | undefined
  return {
    next,
    async readToEnd() {
      const all: Result[] = []
      for await (const result of results) all.push(result as Result)
      return all
    },
    close: async () => void results.return?.(),
  }
}

/** Opens a WebSocket on which a test sends any message. */
export async function openRawSocket(
  url: string,
  options: { protocol?: string; headers?: Record<string, string> } = {},
) {
  const { protocol = 'graphql-transport-ws', headers = {} } = options
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, protocol, { headers })
  const heard: Record<string, unknown>[] = []
  socket.on('message', data => heard.push(JSON.parse(String(data))))
  const closed = once(socket, 'close').then(([code, reason]) => [code, String(reason)] as [number, string])
  await once(socket, 'open')
  return {
    socket,
    heard,
    /** The close code and reason. */
    closed,
    say: (message: unknown) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
  }
}

/** Sends the same message many times in one piece, masked with zeros. */
export function sendAtOnce(socket: WebSocket, text: string, times: number, opcode = 0x81): void {
  const frame = Buffer.from([opcode, 0x80 | text.length, 0, 0, 0, 0, ...Buffer.from(text)])
  const { _socket } = socket as unknown as { _socket: Socket }
  _socket.write(Buffer.concat(Array<Buffer>(times).fill(frame)))
}

/** Serves an app over HTTP, as the gateway's process does. */
type ServedApp = Pick<App, 'fetch' | 'plain' | 'upgrade' | 'admit'> &
  Partial<Pick<App, 'proxies' | 'connectionsPerAddress'>>

export async function serveApp({ fetch, ...app }: ServedApp, options: ServerOptions = {}) {
  const server = createHttpServer(fetch, { ...app, ...options }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    countConnections: () => new Promise<number>(resolve => server.getConnections((_error, count) => resolve(count))),
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
