import { setTimeout as sleep } from 'node:timers/promises'
import { ensureDemo } from '../prisma/seed.ts'
import { createRequestAdmission } from './admission.ts'
import type { AppOptions } from './app-options.ts'
import { createClockSteps, readClock } from './database/clock-check.ts'
import { logFailover } from './database/history/new-line.ts'
import { locks, withLock } from './database/locks.ts'
import { retryUncertain } from './database/retry.ts'
import { openFigures } from './database/roles/figures.ts'
import { openDatabases } from './database/shares.ts'
import { createWakeUps, type WorkKind } from './database/wake-ups.ts'
import { monitorWrites } from './database/write-monitor.ts'
import { createDeliveryWorker } from './events/delivery-worker.ts'
import { createFeed } from './events/feed.ts'
import { createWebhookSender } from './events/webhook-sender.ts'
import { createGraphqlFace } from './graphql/face.ts'
import { createGraphiql } from './graphql/graphiql/graphiql.ts'
import type { AdmitRequest } from './http/admission/requests.ts'
import { noProxies, type TrustedProxies } from './http/client.ts'
import { connectionsPerAddress } from './http/limits/connections.ts'
import { createMeters } from './http/limits/meter.ts'
import { createMetrics } from './http/metrics/metrics.ts'
import { createProcessMetrics } from './http/metrics/process.ts'
import { createRequestMetrics } from './http/metrics/requests.ts'
import { createWorkMetrics } from './http/metrics/work.ts'
import type { PlainFetch } from './http/plain.ts'
import { createReadiness } from './http/readiness.ts'
import { createRequestLog, logPlainRequests, logRequests } from './http/request-log.ts'
import { createRouter } from './http/router.ts'
import type { Fetch } from './http/server.ts'
import { createSockets, type Sockets } from './http/sockets.ts'
import { createMachines } from './machines.ts'
import { createNotebookFace, type NotebookFace } from './notebooks/face.ts'
import { prepareDatabase, watchSecret } from './prepare-database.ts'
import { createConsole } from './providers/console.ts'
import { createEngineWatch } from './reconciler/engine-watch.ts'
import { createHousekeepingLoop } from './reconciler/housekeeping-loop.ts'
import { createLoop, createLoops } from './reconciler/loop.ts'
import { createBillingLoop, createInstanceLoop, createPolicyLoop, createSamplingLoop } from './reconciler/loops.ts'
import { createRestFace, prepareDocuments } from './rest/face.ts'
import { createRememberedKeys } from './services/accounts/api-keys/remembered-keys.ts'
import { createBackground } from './services/background.ts'
import { outboxServices } from './services/events/outbox.ts'
import { createNotebookServices } from './services/instances/notebooks/services.ts'
import { createSshServices } from './services/instances/ssh/services.ts'
import { measureServices } from './services/measures.ts'
import { createOperations, type Operations } from './services/operations.ts'
import { createSecrets } from './services/secrets.ts'
import { createServices } from './services/services.ts'
import { createSshFace, type SshFace } from './ssh/face.ts'

/** Webhook requests in flight at once. They mostly wait for the receiver. */
const maxConcurrentDeliveries = 32
/** When the gateway stops, running passes get this long before the hosts are told to connect elsewhere. */
const handOverMs = 1_000

export type App = {
  fetch: Fetch
  plain: PlainFetch
  admit: AdmitRequest
  proxies: TrustedProxies
  connectionsPerAddress: number
  /** Handles a WebSocket upgrade. */
  upgrade: Sockets['upgrade']
  /** Handles connections to the SSH port; undefined if the gateway does not serve SSH. */
  ssh: Pick<SshFace, 'serve' | 'fingerprint'> | undefined
  /** Handles requests to the notebook port; undefined if the gateway serves no notebooks. */
  notebooks: Pick<NotebookFace, 'serve' | 'upgrade'> | undefined
  operations: Operations
  /** Migrates the database and, if configured, creates the demo account and market. Returns the demo account's key. */
  start(): Promise<string | undefined>
  /** Does due work until none is due now. */
  runUntilIdle(): Promise<void>
  countStreams(): number
  /** Starts polling for due work. */
  startWork(): void
  /** Makes `/ready` answer 503, and refuses new SSH connections. All requests are still served. */
  markNotReady(): void
  /** Marks the gateway not ready, ends all streams and SSH sessions, and starts no more due work. Requests continue. */
  drain(): void
  stop(): Promise<void>
}

/** Builds the gateway without opening a port. */
export function createApp(options: AppOptions): App {
  const {
    databaseUrl,
    directUrl = databaseUrl,
    ownerUrl = directUrl,
    metricsUrl = directUrl,
    graphiql,
    metrics,
    demoKeyFile,
    log,
    secret,
    simulatedDelay,
    eventRetentionDays,
    debtGraceMs,
    minimumRunwayMs,
    quotas,
    privateWebhooks = false,
    publicSearch = true,
    resolve,
    sshProxy,
    notebookProxy = null,
    toolboxFile,
    gatewayUrl = null,
    proxies = noProxies,
    pointsPerSecond = 0,
  } = options
  const onIdleError = (error: Error) => log.warn({ err: error }, 'A database connection was lost.')
  const onNewEpoch = logFailover(log)
  const notify = (kinds: ReadonlySet<WorkKind>) => wakeUps.notify(kinds)
  const onRefusal = (error: unknown) => writes.check(error)
  const clockSteps = createClockSteps(log)
  const listeners = { onIdleError, onNewEpoch, onRefusal, onClockStep: clockSteps.notice, notify }
  const databases = openDatabases({ ...options, ...listeners, url: databaseUrl })
  const { requests: database, work: workDatabase, replica } = databases
  const { now } = database.clock
  const feed = createFeed({ outbox: outboxServices({ database: workDatabase }), now, log })
  const secrets = createSecrets(secret)
  const meterOf = createMeters({ keyPointsPerSecond: pointsPerSecond, now, testNow: options.now })
  const limits = { proxies, meterOf }
  const machines = createMachines({ databases, secrets, log, simulatedDelay, toolboxFile, gatewayUrl, ...limits })
  const { provider, agents, engines, gatewayId } = machines
  const admission = { minimumRunwayMs, debtGraceMs, quotas }
  const rememberedKeys = createRememberedKeys()
  const ports = { feed, containerConsole: createConsole(provider, log), simulation: machines.simulation }
  const doors = { sshProxy, notebookProxy }
  const stores = { database, replica }
  const deps = { ...stores, log, secrets, rememberedKeys, ...ports, ...doors, gatewayId, privateWebhooks, admission }
  const services = createServices(deps)
  const background = createBackground({ ...deps, database: workDatabase }, eventRetentionDays, clockSteps.countBack)
  const { reconciliation, policies, billing, deliveries, chores, engineChanges, sampling } = background
  const engineWatch = createEngineWatch({ engines: agents.followable, changes: engineChanges, provider, log })
  const delivery = createDeliveryWorker({ deliveries, send: createWebhookSender({ privateWebhooks, resolve }), log })
  const work = createLoops({
    instances: createInstanceLoop({ reconciliation, provider, clock: database.clock, log, limits: options }),
    policies: createPolicyLoop({ policies, log }),
    billing: createBillingLoop({ billing, log }),
    webhooks: createLoop({ ...delivery, name: 'webhooks', concurrency: maxConcurrentDeliveries, log }),
    housekeeping: createHousekeepingLoop({ chores, now, log }),
    sampling: createSamplingLoop({ sampling, engines, provider, now, log }),
  })
  const writes = monitorWrites({ pool: workDatabase.pool, log, onChange: isFailing => work.hold(isFailing) })
  const operations = createOperations({ database })
  const wake = (kinds: ReadonlySet<WorkKind>) => {
    work.wake(kinds)
    if (kinds.has('events')) feed.wake()
    if (kinds.has('agents')) agents.wake()
  }
  const onListening = watchSecret(deps, rememberedKeys.setListening, options.onChangedSecret)
  const keyListeners = { onKeyChange: rememberedKeys.forget, onListening }
  const wakeUps = createWakeUps({ url: directUrl, pool: workDatabase.pool, log, wake, ...keyListeners })
  let phase: 'starting' | 'ready' | 'stopping' = 'starting'
  const markNotReady = () => {
    phase = 'stopping'
    ssh?.refuse()
  }
  const requests = createRequestMetrics()
  const requestLog = createRequestLog(log, requests.observe, meterOf)
  const figures = openFigures(metricsUrl, database)
  const pools = { requests: database.pool, work: workDatabase.pool }
  const workMetrics = createWorkMetrics({ ...measureServices(figures), pools, streams: feed.streamCount })
  // The doctor knows the secret, and no key of digests that the database may keep.
  const echo = { proxies, secrets: createSecrets(secret), now }
  const gate = createRequestAdmission({ connections: database.pool.options.max, services, begin: requestLog, echo })
  const graphql = createGraphqlFace(services, gate.admission, meterOf)
  const sockets = createSockets({ face: graphql.sockets, log, ...limits })
  const ssh = options.ssh ? createSshFace({ services: createSshServices(deps), provider, log }) : undefined
  const notebooks = notebookProxy
    ? createNotebookFace({ services: createNotebookServices(deps), proxy: notebookProxy, proxies, provider, log })
    : undefined
  const faces = {
    rest: createRestFace(services, { publicSearch }),
    graphql: graphql.answer,
    host: agents.http,
    graphiql: graphiql ? createGraphiql() : undefined,
    metrics: metrics
      ? createMetrics([
          requests.read,
          workMetrics,
          gate.metrics,
          createProcessMetrics(database.clock.aheadMs, options.build),
          () => ssh?.metrics() ?? [],
          () => notebooks?.metrics() ?? [],
        ])
      : undefined,
  }

  return {
    fetch: logRequests(
      requestLog,
      createRouter(faces, createReadiness({ phase: () => phase, database: databases, writes, work })),
    ),
    plain: logPlainRequests(requestLog, graphql.plain),
    admit: gate.admit,
    upgrade: machines.withHosts(sockets),
    proxies,
    connectionsPerAddress: pointsPerSecond > 0 ? connectionsPerAddress : Number.POSITIVE_INFINITY,
    ssh,
    notebooks,
    operations,
    async start() {
      const demoKey = await withLock(ownerUrl, locks.migration, async () => {
        await prepareDatabase(deps, ownerUrl)
        return demoKeyFile === undefined ? undefined : await ensureDemo(services, operations, demoKeyFile)
      })
      await retryUncertain(async () => ssh?.start())
      await retryUncertain(() => readClock(database, log))
      // Prisma loads its compiler at its first statement. Like the documents, that takes longer than a request may.
      await retryUncertain(operations.machines.hasAny)
      await prepareDocuments(services)
      phase = 'ready'
      return demoKey
    },
    runUntilIdle: async () => void (await work.idle()),
    countStreams: () => feed.streamCount(),
    startWork() {
      work.start()
      wakeUps.start()
      agents.start()
      engineWatch.start()
    },
    markNotReady,
    drain: () => {
      markNotReady()
      feed.stop()
      sockets.stop()
      void ssh?.stop()
      notebooks?.stop()
      void engineWatch.stop()
      void machines.leaveHosts(Promise.race([work.stop(), sleep(handOverMs)]))
    },
    async stop() {
      feed.stop()
      sockets.stop()
      delivery.stop()
      await ssh?.stop()
      notebooks?.stop()
      writes.stop()
      await work.stop()
      await engineWatch.stop()
      await machines.leaveHosts(Promise.resolve())
      await wakeUps.stop()
      await figures.close()
      await databases.close()
    },
  }
}
