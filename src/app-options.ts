import type { Logger } from 'pino'
import type { Quotas } from './domain/accounts/quotas.ts'
import type { SshProxy } from './domain/instances/instances.ts'
import type { NotebookProxy } from './domain/instances/notebook.ts'
import type { ResolveHost } from './events/resolve-host.ts'
import type { TrustedProxies } from './http/client.ts'

export type AppOptions = {
  databaseUrl: string
  /** PostgreSQL itself, if `databaseUrl` leads through a pooler of transactions. */
  directUrl?: string | undefined
  /** The role that migrates the database; by default that of `databaseUrl`. */
  ownerUrl?: string
  /** The role that reads figures for /metrics; by default that of `databaseUrl`. */
  metricsUrl?: string
  poolSize: number
  /** Standbys for reads that may be up to `maxLagMs` old. */
  replica?: { url: string; maxLagMs: number } | null
  graphiql: boolean
  /** Whether every client may read the metrics, without a key. */
  metrics: boolean
  /** The file with the API key of the demo account; undefined for no demo market. */
  demoKeyFile: string | undefined
  log: Logger
  /** What tells this version from others, for `/metrics`. */
  build: Record<'version' | 'migration' | 'node', string>
  /** Replaces the database's clock in tests. */
  now?: (() => Date) | undefined
  /** Encrypts the secrets that the database stores. */
  secret: string
  /** Called if the secret of the database was changed: this gateway must stop. */
  onChangedSecret?: () => void
  /** Factor on the delays of simulated machines: 1 is realistic, 0 is no delay. */
  simulatedDelay: number
  eventRetentionDays: number
  /** The address of the SSH proxy, which may be this gateway; null without one. */
  sshProxy: SshProxy | null
  /** The file with what real machines add to every container. */
  toolboxFile: string
  /** Where hosts reach this gateway alone; null if only a balancer leads to it. */
  gatewayUrl?: string | null
  /** Where the gateways serve notebooks; absent or null when they serve none. */
  notebookProxy?: NotebookProxy | null
  /** Whether this gateway serves SSH. */
  ssh?: boolean
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
  /** Whether REST clients may search without a key. They may unless this is false. */
  publicSearch?: boolean
  /** Points that an API key may use per second; 0 or absent for no limits of requests. */
  pointsPerSecond?: number
  /** The proxies in front of the gateway. */
  proxies?: TrustedProxies
  /** Resolves the host names of webhooks. */
  resolve?: ResolveHost
}
