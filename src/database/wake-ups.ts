// Wakes this gateway and the others on the database after a commit that made work or events. Nothing depends on it: a
// gateway that misses a wake-up finds them at its next poll.

import pg from 'pg'
import type { Logger } from 'pino'
import { toError } from './failure-codes.ts'

export type WakeUps = {
  /** Wakes this gateway now and, while started, the others soon. */
  notify(): void
  start(): void
  stop(): Promise<void>
}
/** `wake` wakes this gateway alone. */
export type WakeUpOptions = { url: string; pool: pg.Pool; log: Logger; wake: () => void }

const channel = 'berth_news'
/** The others are notified once for all commits within this time. */
const minNotifyIntervalMs = 20
const reconnectMs = 2_000

export function createWakeUps({ url, pool, log, wake }: WakeUpOptions): WakeUps {
  let listener: pg.Client | undefined
  let notifyTimer: NodeJS.Timeout | undefined
  let reconnectTimer: NodeJS.Timeout | undefined
  let isRunning = false
  let isListening = true

  function notifyOthers(): void {
    notifyTimer = undefined
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
      if (!isRunning) return
      // Said once, however often it is tried again.
      if (isListening) log.info({ err: error }, 'Other gateways are not heard for a moment. Their news are polled for.')
      isListening = false
      reconnectTimer = setTimeout(listen, reconnectMs)
    }
    client.on('error', lost)
    client.on('end', () => lost(undefined))
    client.on('notification', wake)
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}`)
      isListening = true
      // What was committed before it listened.
      wake()
    } catch (error) {
      lost(toError(error))
    }
  }

  return {
    notify() {
      wake()
      if (isRunning) notifyTimer ??= setTimeout(notifyOthers, minNotifyIntervalMs)
    },
    start() {
      isRunning = true
      void listen()
    },
    async stop() {
      isRunning = false
      clearTimeout(notifyTimer)
      clearTimeout(reconnectTimer)
      const client = listener
      listener = undefined
      await client?.end().catch(() => {})
    },
  }
}
