import type { Logger } from 'pino'
import { ensureDemo } from '../prisma/seed.ts'
import { openDatabase } from './database/client.ts'
import { updateEpoch } from './database/epoch.ts'
import { locks, withLock } from './database/locks.ts'
import { migrate } from './database/migrations.ts'
import { retryUnanswered } from './database/retry.ts'
import { transaction } from './database/transaction.ts'
import { createWakeUps } from './database/wake-ups.ts'
import { monitorWrites } from './database/write-monitor.ts'
import type { Quotas } from './domain/accounts/quotas.ts'
import type { SshProxy } from './domain/instances/instances.ts'
import { createDeliveryWorker } from './events/delivery-worker.ts'
import { createFeed } from './events/feed.ts'
import type { ResolveHost } from './events/resolve-host.ts'
import { createWebhookSender } from './events/webhook-sender.ts'
import { createGraphqlFace } from './graphql/face.ts'
import { createGraphiql } from './graphql/graphiql/graphiql.ts'
import { isLoopback } from './http/loopback.ts'
import { createMetrics } from './http/metrics.ts'
import { createProcessMetrics } from './http/metrics-process.ts'
import { createRequestMetrics } from './http/metrics-requests.ts'
import { createWorkMetrics } from './http/metrics-work.ts'
import { logRequests } from './http/request-log.ts'
import { createRouter } from './http/router.ts'
import type { Fetch } from './http/server.ts'
import { createSockets, type Sockets } from './http/sockets.ts'
import { createConsole } from './providers/console.ts'
import { createSimulatedProvider } from './providers/simulated-provider.ts'
import { createSimulatedWorld, type RunStatement } from './providers/simulated-world.ts'
import { createBillingLoop } from './reconciler/billing-loop.ts'
import { createHousekeepingLoop } from './reconciler/housekeeping-loop.ts'
import { createInstanceLoop } from './reconciler/instance-loop.ts'
import { createLoop, createLoops } from './reconciler/loop.ts'
import { createPolicyLoop } from './reconciler/policy-loop.ts'
import { createRestFace } from './rest/face.ts'
import { createBackground } from './services/background.ts'
import { outboxServices } from './services/events/outbox.ts'
import { createOperations, type Operations } from './services/operations.ts'
import { createSecretCheck } from './services/secret-check.ts'
import { createSecrets } from './services/secrets.ts'
import { createServices } from './services/services.ts'

export type AppOptions = {
  databaseUrl: string
  poolSize: number
  graphiql: boolean
  /** Whether everybody who reaches the app may read its metrics. */
  metrics: boolean
  /** Where the app is going to be listened to. */
  host: string
  /** The file that keeps the key of the demo account; undefined for no demo market. */
  demoKeyFile: string | undefined
  log: Logger
  /** In tests, a clock in place of the database's. */
  now?: (() => Date) | undefined
  /** Seals what nobody may read from the database. */
  secret: string
  /** How slow the simulated machines are: 1 as real ones, 0 not at all. */
  simulatedDelay: number
  /** How long events are kept. */
  eventRetentionDays: number
  /** Where the operator's SSH proxy listens; null without one. */
  sshProxy: SshProxy | null
  /** How long an instance may take to come up, and its machine not to answer. */
  startTimeoutMs: number
  offlineGraceMs: number
  /** How long an account may have less than nothing, before what it has is destroyed. */
  debtGraceMs: number
  /** For how long credit must pay everything when something is added. */
  minimumRunwayMs: number
  /** How much an account may have, unless an operator says otherwise. */
  quotas: Quotas
  /** Whether webhooks may lead into the network that the app stands in, and need no TLS. */
  privateWebhooks?: boolean
  /** Whether everybody may search over REST, also without a key. */
  publicSearch?: boolean
  /** Finds the hosts of webhooks. */
  resolve?: ResolveHost
}

/** Clocks that are set by a network differ by less. */
const clockWarningMs = 30_000
/** Requests to webhooks that are on their way at once. They mostly wait. */
const maxConcurrentDeliveries = 32

export type App = {
  fetch: Fetch
  /** Takes a WebSocket. */
  upgrade: Sockets['upgrade']
  operations: Operations
  /** Brings the database up to date, and fills an empty one if there is to be a demo market. */
  start(): Promise<{ apiKey: string; isNew: boolean } | undefined>
  /** Works on what is due until there is nothing due at this instant. */
  runUntilIdle(): Promise<void>
  /** How many streams are open. */
  countStreams(): number
  /** Looks for due work by itself from now on. */
  startWork(): void
  /** From now on `/ready` answers 503. Everything is served as before. */
  markNotReady(): void
  /** Retires, ends all streams, and starts no more due work. Requests that run go on. */
  drain(): void
  stop(): Promise<void>
}

/** Builds everything and listens to nothing. */
export function createApp(options: AppOptions): App {
  const {
    databaseUrl,
    poolSize,
    graphiql,
    metrics,
    host,
    demoKeyFile,
    log,
    secret,
    simulatedDelay,
    eventRetentionDays,
    startTimeoutMs,
    offlineGraceMs,
    debtGraceMs,
    minimumRunwayMs,
    quotas,
    privateWebhooks = false,
    publicSearch = false,
    resolve,
    sshProxy,
  } = options
  const onIdleError = (error: Error) => log.warn({ err: error }, 'A database connection was lost.')
  const onNewEpoch = () => log.warn('The database failed over to another server: cursors of events have expired.')
  const notify = () => signals.notify()
  const onRefusal = (error: unknown) => writes.check(error)
  const listeners = { onIdleError, onNewEpoch, onRefusal, notify }
  const database = openDatabase({ url: databaseUrl, poolSize, ...listeners, now: options.now })
  const { now } = database.clock
  const feed = createFeed({ outbox: outboxServices({ database }), now, log })
  const query: RunStatement = async (text, values) =>
    (await database.pool.query({ text, values, rowMode: 'array' })).rows
  const provider = createSimulatedProvider({ world: createSimulatedWorld(query), now, delayFactor: simulatedDelay })
  const containerConsole = createConsole(provider, log)
  const secrets = createSecrets(secret)
  const admission = { minimumRunwayMs, debtGraceMs, quotas }
  const deps = { database, log, secrets, feed, containerConsole, sshProxy, privateWebhooks, admission }
  const services = createServices(deps)
  const { reconciliation, policies, billing, deliveries, chores, measures } = createBackground(deps, eventRetentionDays)
  const limits = { startTimeoutMs, offlineGraceMs }
  const delivery = createDeliveryWorker({ deliveries, send: createWebhookSender({ privateWebhooks, resolve }), log })
  const work = createLoops([
    createInstanceLoop({ reconciliation, provider, clock: database.clock, log, limits }),
    createPolicyLoop({ policies, log }),
    createBillingLoop({ billing, log }),
    createLoop({ ...delivery, name: 'webhooks', concurrency: maxConcurrentDeliveries, log }),
    createHousekeepingLoop({ chores, now, log }),
  ])
  const writes = monitorWrites({ pool: database.pool, log, onChange: isFailing => work.hold(isFailing) })
  const operations = createOperations({ database })
  const wake = () => {
    work.wake()
    feed.wake()
  }
  const signals = createWakeUps({ url: databaseUrl, pool: database.pool, log, wake })
  let phase: 'starting' | 'ready' | 'stopping' = 'starting'
  let demoKey: string | undefined

  const markNotReady = () => {
    phase = 'stopping'
  }
  const findReadinessProblem = async () => {
    if (phase !== 'ready') return phase
    const unreachable = await database.pool.query('SELECT 1').then(
      () => undefined,
      ({ code }) => (code === '25006' ? 'the database is a standby' : 'the database does not answer'),
    )
    if (unreachable) return unreachable
    if (await writes.isFailing()) return 'the database takes no writes'
    // That there is more to do than can be done is no reason: it is so for all gateways, and fewer would not do more.
    return work.isFailing() ? 'due work cannot be looked for' : undefined
  }
  /** Nothing is estimated before the first reading. */
  const readClock = async () => {
    await transaction(database, () => Promise.resolve())
    const aheadMs = database.clock.aheadMs()
    if (Math.abs(aheadMs) > clockWarningMs)
      log.warn({ aheadMs }, "The machine's clock is not the database's. Only the times in this log are wrong by that.")
  }
  // The Host header is the client's to write, so a key is given away only where no other machine can ask.
  const demoKeyForGraphiql = () => (isLoopback(host) ? demoKey : undefined)
  const requests = createRequestMetrics()
  const workMetrics = createWorkMetrics({ ...measures, pool: () => database.pool, streams: feed.streamCount })
  const graphql = createGraphqlFace(services, database.prisma)
  const sockets = createSockets(graphql.sockets, log)
  const faces = {
    rest: createRestFace(services, { publicSearch }),
    graphql: graphql.answer,
    graphiql: graphiql ? createGraphiql(demoKeyForGraphiql) : undefined,
    metrics: metrics
      ? createMetrics([requests.read, workMetrics, createProcessMetrics(database.clock.aheadMs)])
      : undefined,
  }

  return {
    fetch: logRequests(log, createRouter(faces, findReadinessProblem), requests.observe),
    upgrade: sockets.upgrade,
    operations,
    async start() {
      const demo = await withLock(databaseUrl, locks.migration, async () => {
        const secretCheck = createSecretCheck(deps)
        const applied = await migrate(databaseUrl, () => retryUnanswered(secretCheck.verify))
        await retryUnanswered(secretCheck.save)
        if (applied.length > 0) log.info({ applied }, 'The database was migrated.')
        if (await updateEpoch(databaseUrl))
          log.warn('The database is in another cluster than before: cursors of events have expired.')
        return demoKeyFile === undefined ? undefined : await ensureDemo(services, operations, demoKeyFile)
      })
      demoKey = demo?.apiKey
      await retryUnanswered(readClock)
      phase = 'ready'
      return demo
    },
    runUntilIdle: async () => void (await work.idle()),
    countStreams: () => feed.streamCount(),
    startWork() {
      work.start()
      signals.start()
    },
    markNotReady,
    drain: () => {
      markNotReady()
      feed.stop()
      sockets.stop()
      void work.stop()
    },
    async stop() {
      feed.stop()
      sockets.stop()
      delivery.stop()
      writes.stop()
      await work.stop()
      await signals.stop()
      await database.close()
    },
  }
}
