import { openDatabase } from '../../src/database/client.ts'
import type { Actor } from '../../src/domain/actor.ts'
import type { AdmissionRules } from '../../src/domain/billing/admission.ts'
import type { RentalTerms } from '../../src/domain/instances/rent/rent.ts'
import type { LaunchWish } from '../../src/domain/launch/launch.ts'
import { createFeed } from '../../src/events/feed.ts'
import { createLog } from '../../src/http/log.ts'
import { consoleOf } from '../../src/providers/console.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { createSimulated } from '../../src/providers/simulated.ts'
import { worldIn } from '../../src/providers/simulated-world.ts'
import { createInstanceLoop } from '../../src/reconciler/instances.ts'
import { reconcile } from '../../src/reconciler/reconcile.ts'
import { outboxServices } from '../../src/services/events/outbox.ts'
import { createOperations } from '../../src/services/operations.ts'
import { reconciliationServices } from '../../src/services/reconciliation/reconciliation.ts'
import { createSecrets } from '../../src/services/secrets.ts'
import { createServices } from '../../src/services/services.ts'
import { wideAdmission } from './billing/admission.ts'

export type GatewayOptions = {
  url: string
  /** The clock that is given in place of the database's. */
  now?: () => Date
  /** Puts something between the reconciler and the simulated driver. */
  between?: (provider: Provider) => Provider
  poolSize?: number
  /** How slow the simulated machines are. */
  delayFactor?: number
  /** How many events its feed reads at a time. */
  eventBatch?: number
  /** What an account may have. */
  admission?: AdmissionRules
  /** Called after its feed was woken by a commit of its own. */
  notify?: () => void
}

export type Gateway = ReturnType<typeof openGateway>

/** What a process has between its faces and its database, so that several of them can share one. */
export function openGateway({
  url,
  now: given,
  between,
  poolSize = 4,
  delayFactor = 1,
  eventBatch,
  admission = wideAdmission,
  notify = () => {},
}: GatewayOptions) {
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: line => void lines.push(JSON.parse(line)) })
  let wakes = 0
  const wake = () => {
    wakes += 1
    feed.wake()
    notify()
  }
  const database = openDatabase({ url, poolSize, onIdleError: () => {}, notify: wake, now: given })
  const { now } = database.clock
  const feed = createFeed({ outbox: outboxServices({ database }, eventBatch), now, log })
  const query = async (text: string, values: unknown[]) =>
    (await database.pool.query({ text, values, rowMode: 'array' })).rows
  const driver = createSimulated({ world: worldIn(query), now, delayFactor })
  const provider = between ? between(driver) : driver
  const secrets = createSecrets('a secret of tests')
  const containerConsole = consoleOf(provider, log)
  const deps = { database, log, secrets, feed, containerConsole, sshProxy: null, admission }
  const reconciliation = reconciliationServices(deps)
  const limits = { startTimeoutMs: 30 * 60_000, offlineGraceMs: 5 * 60_000 }
  const work = { reconciliation, provider, clock: database.clock, log, limits }
  const reconciler = createInstanceLoop(work)
  const services = createServices(deps)
  const operations = createOperations({ database })
  return {
    database,
    log,
    feed,
    services,
    operations,
    reconciliation,
    provider,
    /** Every line that was logged. */
    lines,
    /** How often somebody was told that there is something to do. */
    wakes: () => wakes,
    idle: () => reconciler.idle(),
    look: (lease: Parameters<typeof reconcile>[1]) => reconcile(work, lease),
    async newActor(): Promise<Actor> {
      const [row] = (await database.pool.query('SELECT count(*)::int AS count FROM accounts')).rows
      const email = `renter-${row.count}@example.com`
      const { account } = await operations.accounts.create({ email, creditNanos: 1_000_000_000_000n })
      const key = await database.prisma.apiKey.findFirstOrThrow({ where: { accountId: account.id } })
      return { accountId: account.id, apiKeyId: key.id, publicId: key.publicId, permissions: null }
    },
    rent: async (actor: Actor, offerId: bigint, options: RentOptions = {}) =>
      (await services.instances.rent(actor, wishFor(offerId, options))).instance,
    async sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
      return (await database.pool.query(text, values)).rows
    },
    async close() {
      feed.stop()
      await reconciler.stop()
      await database.close()
    },
  }
}

export type RentOptions = { terms?: RentalTerms; launch?: LaunchWish; cancelUnavailable?: boolean }

function wishFor(
  offerId: bigint,
  { terms = { interruptible: false }, launch, cancelUnavailable = false }: RentOptions,
) {
  return { offerId, terms, launch: { image: 'ubuntu', ...launch }, cancelUnavailable }
}
