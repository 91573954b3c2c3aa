// Wakes this gateway and the others on the database after a commit with due work or events. A wake-up names the kinds of
// that work. Nothing depends on it: a gateway that misses one finds the work at its next poll.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'
import { outsideTraces } from '../traces/causes.ts'
import { workFor } from '../turns/owners.ts'
import { toError } from './failure-codes.ts'

/** What a transaction can make due: work of a loop, events for the streams, or calls and answers of agents. */
export const workKinds = ['instances', 'policies', 'billing', 'webhooks', 'events', 'agents'] as const
export type WorkKind = (typeof workKinds)[number]

export type WakeUps = {
  /** Wakes this gateway at once. Between `start` and `stop`, wakes the other gateways soon after. */
  notify(kinds: ReadonlySet<WorkKind>): void
  start(): void
  stop(): Promise<void>
}
type WakeUpOptions = {
  url: string
  pool: pg.Pool
  log: Logger
  /** Wakes only this gateway. */
  wake: (kinds: ReadonlySet<WorkKind>) => void
  /** Called with the id of each API key that has changed, by any gateway, command or person: the database tells of it. */
  onKeyChange: (id: number) => void
  /** Called when this gateway begins to be told of changes, and when it no longer is. */
  onListening: (isListening: boolean) => void
  timing?: Partial<typeof defaultTiming>
}

const defaultTiming = {
  /** How often to ask whether the connection is alive: one that has died unnoticed brings no wake-up. */
  checkMs: 10_000,
  /** A server that takes longer counts as lost. */
  answerMs: 5_000,
  reconnectMs: 2_000,
}

/** Each gateway that serves has a connection with this name. */
export const listenerName = 'berth wake-ups'
const channel = 'berth_wake_up'
/** Triggers of the table `api_keys` notify it, with the id of the key. */
const keyChannel = 'berth_key_change'
/** All commits within this time share one notification to the other gateways. */
const minNotifyIntervalMs = 20
const allKinds: ReadonlySet<WorkKind> = new Set(workKinds)

export function createWakeUps({ url, pool, log, wake, onKeyChange, onListening, timing }: WakeUpOptions): WakeUps {
  const { checkMs, answerMs, reconnectMs } = { ...defaultTiming, ...timing }
  let listener: pg.Client | undefined
  let notifyTimer: NodeJS.Timeout | undefined
  /** The kinds of the next notification. */
  let announced = new Set<WorkKind>()
  let reconnectTimer: NodeJS.Timeout | undefined
  let isRunning = false
  let isOutageLogged = false

  function notifyOthers(): void {
    notifyTimer = undefined
    const payload = [...announced].join(',')
    announced = new Set()
    // Outside the work's own transaction: commits with a NOTIFY wait for one lock that they all share.
    // Not repeated: the other gateways poll every second and find the work then. Logged for debugging only, because the
    // loops warn when the database does not answer.
    pool.query('SELECT pg_notify($1, $2)', [channel, payload]).catch((error: unknown) => {
      log.debug({ err: error }, 'The other gateways could not be notified. They find the work when they poll.')
    })
  }

  async function listen(): Promise<void> {
    const limits = { connectionTimeoutMillis: answerMs, query_timeout: answerMs }
    const client = new pg.Client({ connectionString: url, application_name: listenerName, ...limits })
    listener = client
    const handleLoss = (error: Error | undefined) => {
      if (listener !== client) return
      listener = undefined
      onListening(false)
      client.end().catch(() => {})
      if (!isRunning) return
      // Logged once per outage, not at each retry.
      if (!isOutageLogged)
        log.info({ err: error }, 'The connection for wake-ups was lost. The gateway polls until it is back.')
      isOutageLogged = true
      reconnectTimer = setTimeout(listen, reconnectMs)
    }
    client.on('error', handleLoss)
    client.on('end', () => handleLoss(undefined))
    client.on('notification', message =>
      message.channel === keyChannel ? onKeyChange(Number(message.payload)) : wake(kindsOf(message.payload)),
    )
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}; LISTEN ${keyChannel}`)
      isOutageLogged = false
      if (listener === client) onListening(true)
      // Other gateways may have committed work before this one listened.
      wake(allKinds)
      while (listener === client) {
        await client.query('SELECT 1')
        await sleep(checkMs, undefined, { ref: false })
      }
    } catch (error) {
      handleLoss(toError(error))
    }
  }

  return {
    notify(kinds) {
      // What a request wakes is work of the gateway, not of that request.
      const wakeAll = () => {
        wake(kinds)
        if (!isRunning) return
        for (const kind of kinds) announced.add(kind)
        notifyTimer ??= setTimeout(notifyOthers, minNotifyIntervalMs)
      }
      workFor(undefined, () => outsideTraces(wakeAll))
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
      onListening(false)
      await client?.end().catch(() => {})
    },
  }
}

/** Gateways of earlier versions name no kind, and those of later versions may name unknown ones. */
function kindsOf(payload: string | undefined): ReadonlySet<WorkKind> {
  if (!payload) return allKinds
  const named = payload.split(',')
  return new Set(workKinds.filter(kind => named.includes(kind)))
}
