import type { Logger } from 'pino'
import { ensureDemo } from '../prisma/seed.ts'
import { openDatabase } from './database/client.ts'
import { readClock } from './database/clock-check.ts'
import { updateEpoch } from './database/epoch.ts'
import { locks, withLock } from './database/locks.ts'
import { editedMigrations, migrate } from './database/migrations.ts'
import { retryUncertain } from './database/retry.ts'
import { createWakeUps, type WorkKind } from './database/wake-ups.ts'
import { monitorWrites } from './database/write-monitor.ts'
import type { Quotas } from './domain/accounts/quotas.ts'
import type { SshProxy } from './domain/instances/instances.ts'
import { createDeliveryWorker } from './events/delivery-worker.ts'
import { createFeed } from './events/feed.ts'
import type { ResolveHost } from './events/resolve-host.ts'
import { createWebhookSender } from './events/webhook-sender.ts'
import { createGraphqlFace } from './graphql/face.ts'
import { createGraphiql } from './graphql/graphiql/graphiql.ts'
import { isLoopback } from './http/listen.ts'
import { createMetrics } from './http/metrics.ts'
import { createProcessMetrics } from './http/metrics-process.ts'
import { createRequestMetrics } from './http/metrics-requests.ts'
import { createWorkMetrics } from './http/metrics-work.ts'
import type { PlainFetch } from './http/plain.ts'
import { createReadiness } from './http/readiness.ts'
import { createRequestLog, logPlainRequests, logRequests } from './http/request-log.ts'
import { createRouter } from './http/router.ts'
import type { Fetch } from './http/server.ts'
import { createSockets, type Sockets } from './http/sockets.ts'
import { createConsole } from './providers/console.ts'
import { createDockerProvider } from './providers/docker/provider.ts'
import { readToolbox } from './providers/docker/toolbox.ts'
import { createFleet } from './providers/fleet.ts'
import { createSimulatedProvider } from './providers/simulated/provider.ts'
import { createSimulation } from './providers/simulated/simulation.ts'
import { createSimulatedWorld, type RunStatement } from './providers/simulated/world.ts'
import { createEngineWatch } from './reconciler/engine-watch.ts'
import { createHousekeepingLoop } from './reconciler/housekeeping-loop.ts'
import { createLoop, createLoops } from './reconciler/loop.ts'
import { createBillingLoop, createInstanceLoop, createPolicyLoop, createSamplingLoop } from './reconciler/loops.ts'
import { createRestFace } from './rest/face.ts'
import { createRememberedKeys } from './services/accounts/api-keys/remembered-keys.ts'
import { createBackground } from './services/background.ts'
import { outboxServices } from './services/events/outbox.ts'
import { engineServices } from './services/machines/engines/engines.ts'
import { createOperations, type Operations } from './services/operations.ts'
import { createSecretCheck } from './services/secret-check.ts'
import { createSecrets } from './services/secrets.ts'
import { createServices } from './services/services.ts'

export type AppOptions = {
  databaseUrl: string
  poolSize: number
  graphiql: boolean
  /** Whether every client may read the metrics, without a key. */
  metrics: boolean
  /** The address that the server will listen on. */
  host: string
  /** The file with the API key of the demo account; undefined for no demo market. */
  demoKeyFile: string | undefined
  log: Logger
  /** Replaces the database's clock in tests. */
  now?: (() => Date) | undefined
  /** Encrypts the secrets that the database stores. */
  secret: string
  /** Factor on the delays of simulated machines: 1 is realistic, 0 is no delay. */
  simulatedDelay: number
  eventRetentionDays: number
  /** The address of the operator's SSH proxy; null without one. */
  sshProxy: SshProxy | null
  /** The file with what real machines add to every container. */
  toolboxFile: string
  /** Time limit for an instance to load, and to stop. */
  startTimeoutMs: number
  /** How long a machine may not answer before its instances are offline. */
  offlineGraceMs: number
  /** How long an account may stay in debt before its instances and volumes are destroyed. */
  debtGraceMs: number
  /** When an account adds a cost, its credit must cover all of its costs for this long. */
  minimumRunwayMs: number
  /** Quotas of an account unless an operator sets others. */
  quotas: Quotas
  /** Whether webhooks may use private addresses and URLs without TLS. */
  privateWebhooks?: boolean
  /** Whether REST clients may search without a key. */
  publicSearch?: boolean
  /** Resolves the host names of webhooks. */
  resolve?: ResolveHost
}

/** Webhook requests in flight at once. They mostly wait for the receiver. */
const maxConcurrentDeliveries = 32

export type App = {
  fetch: Fetch
  plain: PlainFetch
  /** Handles a WebSocket upgrade. */
  upgrade: Sockets['upgrade']
  operations: Operations
  /** Migrates the database and, if configured, creates the demo account and market. */
  start(): Promise<{ apiKey: string; isNew: boolean } | undefined>
  /** Does due work until none is due now. */
  runUntilIdle(): Promise<void>
  countStreams(): number
  /** Starts polling for due work. */
  startWork(): void
  /** Makes `/ready` answer 503. All requests are still served. */
  markNotReady(): void
  /** Marks the gateway not ready, ends all streams and starts no more due work. Running requests continue. */
  drain(): void
  stop(): Promise<void>
}

/** Builds the gateway without opening a port. */
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
    debtGraceMs,
    minimumRunwayMs,
    quotas,
    privateWebhooks = false,
    publicSearch = false,
    resolve,
    sshProxy,
    toolboxFile,
  } = options
  const onIdleError = (error: Error) => log.warn({ err: error }, 'A database connection was lost.')
  const onNewEpoch = () => log.warn('The database failed over to another server. Event cursors have expired.')
  const notify = (kinds: ReadonlySet<WorkKind>) => wakeUps.notify(kinds)
  const onRefusal = (error: unknown) => writes.check(error)
  const listeners = { onIdleError, onNewEpoch, onRefusal, notify }
  const database = openDatabase({ url: databaseUrl, poolSize, ...listeners, now: options.now })
  const { now } = database.clock
  const feed = createFeed({ outbox: outboxServices({ database }), now, log })
  const query: RunStatement = async (text, values) =>
    (await database.pool.query({ text, values, rowMode: 'array' })).rows
  const secrets = createSecrets(secret)
  const engines = engineServices({ database, secrets })
  const provider = createFleet({
    engines,
    simulated: createSimulatedProvider({ world: createSimulatedWorld(query), now, delayFactor: simulatedDelay }),
    docker: createDockerProvider({ engineOf: engines.of, readToolbox: () => readToolbox(toolboxFile), log, now }),
  })
  const ports = { feed, containerConsole: createConsole(provider, log), simulation: createSimulation(query, engines) }
  const admission = { minimumRunwayMs, debtGraceMs, quotas }
  const rememberedKeys = createRememberedKeys()
  const deps = { database, log, secrets, rememberedKeys, ...ports, sshProxy, privateWebhooks, admission }
  const services = createServices(deps)
  const background = createBackground(deps, eventRetentionDays)
  const { reconciliation, policies, billing, deliveries, chores, measures, engineChanges, sampling } = background
  const engineWatch = createEngineWatch({ engines, changes: engineChanges, provider, log })
  const delivery = createDeliveryWorker({ deliveries, send: createWebhookSender({ privateWebhooks, resolve }), log })
  const work = createLoops({
    instances: createInstanceLoop({ reconciliation, provider, clock: database.clock, log, limits: options }),
    policies: createPolicyLoop({ policies, log }),
    billing: createBillingLoop({ billing, log }),
    webhooks: createLoop({ ...delivery, name: 'webhooks', concurrency: maxConcurrentDeliveries, log }),
    housekeeping: createHousekeepingLoop({ chores, now, log }),
    sampling: createSamplingLoop({ sampling, engines, provider, now, log }),
  })
  const writes = monitorWrites({ pool: database.pool, log, onChange: isFailing => work.hold(isFailing) })
  const operations = createOperations({ database })
  const wake = (kinds: ReadonlySet<WorkKind>) => {
    work.wake(kinds)
    if (kinds.has('events')) feed.wake()
  }
  const keyListeners = { onKeyChange: rememberedKeys.forget, onListening: rememberedKeys.setListening }
  const wakeUps = createWakeUps({ url: databaseUrl, pool: database.pool, log, wake, ...keyListeners })
  let phase: 'starting' | 'ready' | 'stopping' = 'starting'
  let demoKey: string | undefined
  const markNotReady = () => {
    phase = 'stopping'
  }
  // A client can forge the Host header. GraphiQL gets the demo key only when no other machine can connect.
  const demoKeyForGraphiql = () => (isLoopback(host) ? demoKey : undefined)
  const requests = createRequestMetrics()
  const requestLog = createRequestLog(log, requests.observe)
  const workMetrics = createWorkMetrics({ ...measures, pool: () => database.pool, streams: feed.streamCount })
  const graphql = createGraphqlFace(services)
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
    fetch: logRequests(
      requestLog,
      createRouter(faces, createReadiness({ phase: () => phase, database, writes, work })),
    ),
    plain: logPlainRequests(requestLog, graphql.plain),
    upgrade: sockets.upgrade,
    operations,
    async start() {
      const demo = await withLock(databaseUrl, locks.migration, async () => {
        const secretCheck = createSecretCheck(deps)
        const applied = await migrate(databaseUrl, () => retryUncertain(secretCheck.verify))
        await retryUncertain(secretCheck.save)
        if (applied.length > 0) log.info({ applied }, 'The database was migrated.')
        const edited = await editedMigrations(database.pool)
        if (edited.length > 0) log.warn({ edited }, 'Migrations have been edited since they were applied.')
        if (await updateEpoch(databaseUrl))
          log.warn('The database moved to another cluster. Event cursors have expired.')
        return demoKeyFile === undefined ? undefined : await ensureDemo(services, operations, demoKeyFile)
      })
      demoKey = demo?.apiKey
      await retryUncertain(() => readClock(database, log))
      phase = 'ready'
      return demo
    },
    runUntilIdle: async () => void (await work.idle()),
    countStreams: () => feed.streamCount(),
    startWork() {
      work.start()
      wakeUps.start()
      engineWatch.start()
    },
    markNotReady,
    drain: () => {
      markNotReady()
      feed.stop()
      sockets.stop()
      void work.stop()
      void engineWatch.stop()
    },
    async stop() {
      feed.stop()
      sockets.stop()
      delivery.stop()
      writes.stop()
      await work.stop()
      await engineWatch.stop()
      await wakeUps.stop()
      await database.close()
    },
  }
}
