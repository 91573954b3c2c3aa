// Tells the other gateways on a database that there is something new, after the commit that made it. Nothing depends on
// it: whoever is not told finds it at the next poll.

import pg from 'pg'
import type { Logger } from 'pino'
import { news } from './transaction.ts'

export type Signals = { start(): void; stop(): Promise<void> }
export type SignalOptions = { url: string; pool: pg.Pool; log: Logger; onNews: () => void }

const channel = 'berth_news'
/** However much is committed, the others are told so often at most. */
const quietMs = 20
const reconnectMs = 2_000

export function createSignals({ url, pool, log, onNews }: SignalOptions): Signals {
  let listener: pg.Client | undefined
  let telling: NodeJS.Timeout | undefined
  let retry: NodeJS.Timeout | undefined
  let running = false
  let isHeard = true

  pool.on(news as 'connect', () => {
    onNews()
    if (running) telling ??= setTimeout(tell, quietMs)
  })

  function tell(): void {
    telling = undefined
    // In no transaction: a commit that notifies takes a lock that all of them share.
    pool.query(`NOTIFY ${channel}`).catch(() => {})
  }

  async function listen(): Promise<void> {
    const client = new pg.Client({ connectionString: url, application_name: 'berth signals', keepAlive: true })
    listener = client
    const lost = (error: Error | undefined) => {
      if (listener !== client) return
      listener = undefined
      client.end().catch(() => {})
      if (!running) return
      // Said once, however often it is tried again.
      if (isHeard) log.info({ err: error }, 'Other gateways are not heard for a moment. Their news are polled for.')
      isHeard = false
      retry = setTimeout(listen, reconnectMs)
    }
    client.on('error', lost)
    client.on('end', () => lost(undefined))
    client.on('notification', onNews)
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}`)
      isHeard = true
      // What was committed before it listened.
      onNews()
    } catch (error) {
      lost(error as Error)
    }
  }

  return {
    start() {
      running = true
      void listen()
    },
    async stop() {
      running = false
      clearTimeout(telling)
      clearTimeout(retry)
      const client = listener
      listener = undefined
      await client?.end().catch(() => {})
    },
  }
}
