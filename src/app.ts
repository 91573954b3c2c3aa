import type { Logger } from 'pino'
import { ensureDemo } from '../prisma/seed.ts'
import { again } from './database/again.ts'
import { openDatabase } from './database/client.ts'
import { settleEpoch } from './database/epoch.ts'
import { alone, locks } from './database/locks.ts'
import { migrate } from './database/migrations.ts'
import { createSignals } from './database/signals.ts'
import { transaction } from './database/transaction.ts'
import { watchWrites } from './database/writable.ts'
import type { Quotas } from './domain/accounts/quotas.ts'
import type { SshProxy } from './domain/instances/instances.ts'
import { createFeed } from './events/feed.ts'
import { createDeliveryWork } from './events/webhooks.ts'
import type { Resolve } from './events/webhooks-resolve.ts'
import { createSend } from './events/webhooks-send.ts'
import { createGraphqlFace } from './graphql/face.ts'
import { createGraphiql } from './graphql/graphiql/graphiql.ts'
import { isLoopback } from './http/loopback.ts'
import { createMetrics } from './http/metrics.ts'
import { createProcessMetrics } from './http/metrics-process.ts'
import { createRequestMetrics } from './http/metrics-requests.ts'
import { createWorkMetrics } from './http/metrics-work.ts'
import { logged } from './http/request-log.ts'
import { createRouter } from './http/router.ts'
import type { Fetch } from './http/server.ts'
import { createSockets, type Sockets } from './http/sockets.ts'
import { consoleOf } from './providers/console.ts'
import { createSimulated } from './providers/simulated.ts'
import { type Query, worldIn } from './providers/simulated-world.ts'
import { createBillingLoop } from './reconciler/billing.ts'
import { createHousekeeping } from './reconciler/housekeeping.ts'
import { createInstanceLoop } from './reconciler/instances.ts'
import { createLoop, createLoops } from './reconciler/loop.ts'
import { createPolicyLoop } from './reconciler/policies.ts'
import { createRestFace } from './rest/face.ts'
import { createBackground } from './services/background.ts'
import { outboxServices } from './services/events/outbox.ts'
import { createOperations, type Operations } from './services/operations.ts'
import { createSecrets } from './services/secrets.ts'
import { createSecretCheck } from './services/secrets-check.ts'
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
  resolve?: Resolve
}

/** Clocks that are set by a network differ by less. */
const clockWarningMs = 30_000
/** Requests to webhooks that are on their way at once. They mostly wait. */
const deliveriesAtOnce = 32

export type App = {
  fetch: Fetch
  /** Takes a WebSocket. */
  upgrade: Sockets['upgrade']
  operations: Operations
  /** Brings the database up to date, and fills an empty one if there is to be a demo market. */
  start(): Promise<{ apiKey: string; isNew: boolean } | undefined>
  /** Works on what is due until there is nothing due at this instant. */
  idle(): Promise<void>
  /** How many streams are open. */
  streams(): number
  /** Looks for due work by itself from now on. */
  work(): void
  /** From now on `/ready` answers 503. Everything is served as before. */
  retire(): void
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
  const query: Query = async (text, values) => (await database.pool.query({ text, values, rowMode: 'array' })).rows
  const provider = createSimulated({ world: worldIn(query), now, delayFactor: simulatedDelay })
  const containerConsole = consoleOf(provider, log)
  const secrets = createSecrets(secret)
  const admission = { minimumRunwayMs, debtGraceMs, quotas }
  const deps = { database, log, secrets, feed, containerConsole, sshProxy, privateWebhooks, admission }
  const services = createServices(deps)
  const { reconciliation, policies, billing, deliveries, chores, measures } = createBackground(deps, eventRetentionDays)
  const limits = { startTimeoutMs, offlineGraceMs }
  const delivery = createDeliveryWork({ deliveries, send: createSend({ privateWebhooks, resolve }), log })
  const work = createLoops([
    createInstanceLoop({ reconciliation, provider, clock: database.clock, log, limits }),
    createPolicyLoop({ policies, log }),
    createBillingLoop({ billing, log }),
    createLoop({ ...delivery, name: 'webhooks', concurrency: deliveriesAtOnce, log }),
    createHousekeeping({ chores, now, log }),
  ])
  const writes = watchWrites({ pool: database.pool, log, onChange: isFailing => work.hold(isFailing) })
  const operations = createOperations({ database })
  const wake = () => {
    work.wake()
    feed.wake()
  }
  const signals = createSignals({ url: databaseUrl, pool: database.pool, log, wake })
  let phase: 'starting' | 'ready' | 'stopping' = 'starting'
  let demoKey: string | undefined

  const retire = () => {
    phase = 'stopping'
  }
  const whyNotReady = async () => {
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
  const keyForPage = () => (isLoopback(host) ? demoKey : undefined)
  const requests = createRequestMetrics()
  const workMetrics = createWorkMetrics({ ...measures, pool: () => database.pool, streams: feed.streams })
  const graphql = createGraphqlFace(services, database.prisma)
  const sockets = createSockets(graphql.sockets, log)
  const faces = {
    rest: createRestFace(services, { publicSearch }),
    graphql: graphql.answer,
    graphiql: graphiql ? createGraphiql(keyForPage) : undefined,
    metrics: metrics
      ? createMetrics([requests.read, workMetrics, createProcessMetrics(database.clock.aheadMs)])
      : undefined,
  }

  return {
    fetch: logged(log, createRouter(faces, whyNotReady), requests.observe),
    upgrade: sockets.upgrade,
    operations,
    async start() {
      const demo = await alone(databaseUrl, locks.migration, async () => {
        const secretCheck = createSecretCheck(deps)
        const applied = await migrate(databaseUrl, () => again(secretCheck.verify))
        await again(secretCheck.keep)
        if (applied.length > 0) log.info({ applied }, 'The database was migrated.')
        if (await settleEpoch(databaseUrl))
          log.warn('The database is in another cluster than before: cursors of events have expired.')
        return demoKeyFile === undefined ? undefined : await ensureDemo(services, operations, demoKeyFile)
      })
      demoKey = demo?.apiKey
      await again(readClock)
      phase = 'ready'
      return demo
    },
    idle: async () => void (await work.idle()),
    streams: () => feed.streams(),
    work() {
      work.start()
      signals.start()
    },
    retire,
    drain: () => {
      retire()
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
