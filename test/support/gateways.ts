import pg from 'pg'
import { openDatabase } from '../../src/database/client.ts'
import type { WorkKind } from '../../src/database/wake-ups.ts'
import type { Actor } from '../../src/domain/actor.ts'
import type { AdmissionRules } from '../../src/domain/billing/admission.ts'
import type { RentalTerms } from '../../src/domain/instances/rent/decide.ts'
import type { LaunchInput } from '../../src/domain/launch/launch.ts'
import { createFeed } from '../../src/events/feed.ts'
import { createLog } from '../../src/http/log.ts'
import { createConsole } from '../../src/providers/console.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { createSimulatedProvider } from '../../src/providers/simulated/provider.ts'
import { createSimulation } from '../../src/providers/simulated/simulation.ts'
import { createSimulatedWorld } from '../../src/providers/simulated/world.ts'
import { createInstanceLoop } from '../../src/reconciler/loops.ts'
import { reconcile } from '../../src/reconciler/reconcile.ts'
import { createRememberedKeys } from '../../src/services/accounts/api-keys/remembered-keys.ts'
import { outboxServices } from '../../src/services/events/outbox.ts'
import { duePolicyServices } from '../../src/services/instances/policy/due.ts'
import { wholeInstance } from '../../src/services/instances/source.ts'
import { engineServices } from '../../src/services/machines/engines/engines.ts'
import { createOperations } from '../../src/services/operations.ts'
import { reconciliationServices } from '../../src/services/reconciliation/reconciliation.ts'
import { createSecrets } from '../../src/services/secrets.ts'
import { createServices } from '../../src/services/services.ts'
import { unlimitedAdmission } from './billing/admission.ts'
import { urlAs } from './database/roles.ts'

export type GatewayOptions = {
  url: string
  /** Replaces the database's clock. */
  now?: () => Date
  /** Wraps the simulated provider. */
  wrapProvider?: (provider: Provider) => Provider
  poolSize?: number
  /** Factor on the delays of simulated machines. */
  delayFactor?: number
  /** How many events the feed reads at a time. */
  eventBatch?: number
  admission?: AdmissionRules
  /** Called after a commit of this gateway, with the kinds of work that it made due. */
  notify?: (kinds: ReadonlySet<WorkKind>) => void
}

export type Gateway = ReturnType<typeof openGateway>

/** A gateway without its faces. Several can share one database. */
export function openGateway({
  url,
  now: fixedNow,
  wrapProvider,
  poolSize = 4,
  delayFactor = 1,
  eventBatch,
  admission = unlimitedAdmission,
  notify = () => {},
}: GatewayOptions) {
  const logLines: Record<string, unknown>[] = []
  const log = createLog('info', { write: line => void logLines.push(JSON.parse(line)) })
  let wakeCount = 0
  const wake = (kinds: ReadonlySet<WorkKind>) => {
    wakeCount += 1
    if (kinds.has('events')) feed.wake()
    notify(kinds)
  }
  const database = openDatabase({
    url: urlAs('app', url),
    poolSize,
    onIdleError: () => {},
    notify: wake,
    now: fixedNow,
  })
  const { now } = database.clock
  const feed = createFeed({ outbox: outboxServices({ database }, eventBatch), now, log })
  const query = async (text: string, values: unknown[]) =>
    (await database.pool.query({ text, values, rowMode: 'array' })).rows
  const simulated = createSimulatedProvider({ world: createSimulatedWorld(query), now, delayFactor })
  const provider = wrapProvider ? wrapProvider(simulated) : simulated
  const secrets = createSecrets('a secret of tests')
  const containerConsole = createConsole(provider, log)
  const simulation = createSimulation(query, engineServices({ database, secrets, log }))
  const rememberedKeys = createRememberedKeys()
  const proxies = { sshProxy: null, notebookProxy: null }
  const deps = { database, log, secrets, rememberedKeys, feed, containerConsole, simulation, ...proxies, admission }
  const reconciliation = reconciliationServices(deps)
  const limits = { startTimeoutMs: 30 * 60_000, offlineGraceMs: 5 * 60_000 }
  const reconcileDeps = { reconciliation, provider, clock: database.clock, log, limits }
  const reconciler = createInstanceLoop(reconcileDeps)
  const admin = new pg.Pool({ connectionString: url, max: 4, application_name: 'test' })
  // The pool replaces a connection that a test ends.
  admin.on('error', () => {})
  const services = createServices(deps)
  const operations = createOperations({ database })
  return {
    database,
    log,
    feed,
    services,
    operations,
    reconciliation,
    policies: duePolicyServices(deps),
    provider,
    /** Every line of the log. */
    lines: logLines,
    /** How many commits of this gateway made work due. */
    wakeCount: () => wakeCount,
    idle: () => reconciler.idle(),
    reconcile: (lease: Parameters<typeof reconcile>[1]) => reconcile(reconcileDeps, lease),
    async newActor(): Promise<Actor> {
      const [row] = (await database.pool.query('SELECT count(*)::int AS count FROM accounts')).rows
      const email = `renter-${row.count}@example.com`
      const { account } = await operations.accounts.create({ email, creditNanos: 1_000_000_000_000n })
      const key = await database.prisma.apiKey.findFirstOrThrow({ where: { accountId: account.id } })
      return { accountId: account.id, apiKeyId: key.id, publicId: key.publicId, permissions: null }
    },
    rent: async (actor: Actor, offerId: bigint, options: RentOptions = {}) =>
      (await services.instances.rent(actor, rentInputOf(offerId, options), wholeInstance)).instance,
    /** Runs SQL on the database as its superuser, past all services. */
    async sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
      return (await admin.query(text, values)).rows
    },
    async close() {
      feed.stop()
      await reconciler.stop()
      await admin.end()
      await database.close()
    },
  }
}

export type RentOptions = { terms?: RentalTerms; launch?: LaunchInput; failIfUnavailable?: boolean }

function rentInputOf(
  offerId: bigint,
  { terms = { interruptible: false }, launch, failIfUnavailable = false }: RentOptions,
) {
  return { offerId, terms, launch: { image: 'ubuntu', ...launch }, failIfUnavailable }
}
