// Subscriptions as clients read them.

import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { App } from '../../src/app.ts'
import { createHttpServer, type ServerOptions } from '../../src/http/server.ts'

export type Result = {
  // biome-ignore lint/suspicious/noExplicitAny: whatever the test asked for
  data?: any
  errors?: { message: string; extensions: Record<string, unknown> }[]
}

export type Subscription = {
  status: number
  /** The next result; undefined when the stream is complete. Throws when it breaks off. */
  next(): Promise<Result | undefined>
  /** All that still come. */
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
  // From now on somebody reads: of an answer that nobody reads, the client closes the connection.
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
      // Either may be all that the client hears.
      closing.abort()
      void reader.cancel().catch(() => {})
    },
  }
}

/** Asks without a pool: with its collections forced, the one of `fetch` loses track of streams. */
export async function fetchWithoutPool(asked: Request): Promise<Response> {
  const { method, signal } = asked
  const headers = Object.fromEntries(asked.headers)
  const outgoing = request(asked.url, { method, headers, agent: false })
  outgoing.end(await asked.text())
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

/** The data of every `next`, until `complete`. */
async function* readMessages(body: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string, undefined> {
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

/** Subscribes over a WebSocket, with a client that has one. */
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

/** A WebSocket of its own, that says just what a test wants. */
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
    /** The code and the reason that it was closed with. */
    closed,
    say: (message: unknown) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
  }
}

/** Listens for an app as its process does. */
export async function serveApp(app: Pick<App, 'fetch' | 'upgrade'>, options: ServerOptions = {}) {
  const server = createHttpServer(app.fetch, { upgrade: app.upgrade, ...options }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    /** How many connections there are. */
    countConnections: () => new Promise<number>(resolve => server.getConnections((_error, count) => resolve(count))),
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
