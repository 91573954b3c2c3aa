// Readers that follow the events of an account, at one gateway after another.

import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { Renter } from '../instances/renters.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { type Result, type Subscription, subscribeSse, subscribeWebSocket } from '../streams.ts'

export type Transport = 'sse' | 'websocket'
type Open = Omit<Subscription, 'status'>
export type Reader = {
  accountId: number
  transport: Transport
  /** The id of the event after which the reader began. */
  after: bigint
  /** Ids of the received events, in order. */
  ids: bigint[]
  /** How often the reader resumed. */
  resumed: number
  /** How often its cursor had expired. Then it began again after the newest event. */
  expired: number
  /** Resolves when the reader received an event of this kind. */
  waitForEvent: (kind: string) => Promise<void>
  /** Stops the reader. Throws the first unexpected error that it received. */
  close: () => Promise<void>
}

export type ReaderOptions = {
  renter: Renter
  transport: Transport
  chance: SeededRandom
  pick: (chance: SeededRandom) => Promise<string>
  /** Whether cursors may expire, as after a fail-over. */
  mayExpire?: boolean
}

/** Starts a reader after the newest event. */
export async function startReader({
  renter,
  transport,
  chance,
  pick,
  mayExpire = false,
}: ReaderOptions): Promise<Reader> {
  const { accountId, apiKey } = renter
  const find = async () => await newestEvent(await pick(chance), apiKey).catch(() => undefined)
  const { id: after, cursor: first } = await findStart()
  let cursor: string | undefined = first
  const ids: bigint[] = []
  const kinds = new Set<string>()
  let over = false
  let current: Open | undefined
  let fault: Error | undefined
  let wakeWaiter = () => {}

  async function findStart() {
    for (;;) {
      const start = await find()
      if (start) return start
      await sleep(chance.between(5, 50))
    }
  }

  async function follow(): Promise<void> {
    cursor ??= (await findStart()).cursor
    const query = `subscription { events(after: "${cursor}") { cursor node { id kind } } }`
    const stream = await open[transport](await pick(chance), apiKey, query)
    current = stream
    // The reader also leaves gateways that still run.
    const most = chance.between(5, 60)
    for (let count = 0; count < most && !over; count += 1) {
      const result = await stream.next()
      if (!result) break
      take(result)
    }
    await stream.close()
  }

  function take({ data, errors }: Result): void {
    const code = errors?.[0]?.extensions['code']
    if (mayExpire && code === 'CURSOR_EXPIRED') {
      reader.expired += 1
      cursor = undefined
    } else if (errors && code !== 'STREAM_ENDED' && code !== 'UNAVAILABLE') fault = new Error(JSON.stringify(errors))
    if (errors) throw new Error('The stream was ended.')
    const { node, cursor: place } = data.events
    cursor = place
    ids.push(toId(node.id))
    kinds.add(node.kind)
    wakeWaiter()
  }

  async function run(): Promise<void> {
    while (!over && !fault) {
      await follow().catch(() => {})
      // Close a stream that broke off, too.
      await current?.close().catch(() => {})
      reader.resumed += 1
      await sleep(chance.between(5, 50))
    }
  }

  const reader: Reader = {
    ...{ accountId, transport, after, ids, resumed: 0, expired: 0 },
    async waitForEvent(kind) {
      while (!kinds.has(kind)) await new Promise<void>(resolve => (wakeWaiter = resolve))
    },
    async close() {
      over = true
      void current?.close().catch(() => {})
      await running
      if (fault) throw fault
    },
  }
  const running = run()
  return reader
}

const open: Record<Transport, (url: string, apiKey: string, query: string) => Promise<Open>> = {
  sse: (url, apiKey, query) => subscribeSse(fetch, apiKey, query, { url: `${url}/graphql` }),
  async websocket(url, apiKey, query) {
    const connectionParams = { authorization: `Bearer ${apiKey}` }
    const address = `${url.replace('http', 'ws')}/graphql`
    const client = createClient({ url: address, webSocketImpl: WebSocket, connectionParams, retryAttempts: 0 })
    const stream = subscribeWebSocket(client, query)
    const close = async () => {
      await client.dispose()
      await stream.close()
    }
    return { ...stream, close }
  },
}

async function newestEvent(url: string, apiKey: string): Promise<{ cursor: string; id: bigint }> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ events(last: 1) { edges { cursor node { id } } } }' }),
  })
  const { data } = (await response.json()) as Result
  const [{ cursor, node }] = data.events.edges
  return { cursor, id: toId(node.id) }
}

function toId(id: string): bigint {
  return BigInt(id.replace('evt_', ''))
}
