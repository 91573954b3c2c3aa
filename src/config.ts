import { join, resolve } from 'node:path'
import { z } from 'zod'
import { databaseProblems, databaseSettings, databaseUrl } from './config-database.ts'
import { readSecretFiles } from './config-files.ts'
import {
  type NotebookSettings,
  notebookProblems,
  notebooksOf,
  type SshSettings,
  sshOf,
  sshProblems,
} from './config-proxies.ts'
import { defaultDataDir, demoKeyFileName } from './data-folder.ts'
import { findUnknownSettings } from './doctor/verdicts/unknown-settings.ts'
import type { Quotas } from './domain/accounts/quotas.ts'
import type { SshProxy } from './domain/instances/instances.ts'
import { maxRetryDays } from './domain/webhooks/webhooks.ts'
import { limitRules } from './http/limits/points.ts'
import { isLoopback } from './http/listen.ts'
import {
  addressRanges,
  booleanSetting,
  count,
  drainSeconds,
  gatewayUrl,
  hours,
  minutes,
  notebookUrl,
  points,
  portButOne,
  sshAddress,
} from './setting-kinds.ts'

export type Config = {
  host: string
  port: number
  databaseUrl: string | undefined
  /** PostgreSQL itself, if `databaseUrl` leads through a pooler of transactions. */
  directUrl: string | undefined
  /** The role that owns the tables and migrates them; by default that of `databaseUrl`. */
  ownerUrl: string | undefined
  /** The role that reads figures for /metrics; by default that of `databaseUrl`. */
  metricsUrl: string | undefined
  poolSize: number
  /** Standbys for reads that may be stale; null without any. */
  replica: { url: string; maxLagMs: number } | null
  dataDir: string
  /** The user that does the work if root starts Berth; undefined for a user of Berth's own. */
  runAs: string | undefined
  /** The file with the API key of the demo account; undefined for no demo market. */
  demoKeyFile: string | undefined
  graphiql: boolean
  metrics: boolean
  logLevel: string
  /** If undefined, the gateway uses the secret in the data folder. */
  secret: string | undefined
  /** What a command changes the secret to. */
  newSecret: string | undefined
  simulatedDelay: number
  eventRetentionDays: number
  startTimeoutMs: number
  offlineGraceMs: number
  debtGraceMs: number
  /** How long the gateway still serves requests after SIGTERM, while `/ready` answers 503. */
  drainMs: number
  minimumRunwayMs: number
  quotas: Quotas
  /** The address of the operator's SSH proxy; null without one. */
  sshProxy: SshProxy | null
  /** The gateway's own SSH server; null without one. */
  ssh: SshSettings
  /** The port for notebooks; null without one. */
  notebooks: NotebookSettings
  privateWebhooks: boolean
  /** The file with what real machines add to every container. */
  toolboxFile: string
  /** Where hosts reach this gateway, and no other one; null if only a balancer leads to it. */
  gatewayUrl: string | null
  /** Whether REST clients may search without a key. */
  publicSearch: boolean
  /** Points that an API key may use per second; 0 for no limits of requests. */
  pointsPerSecond: number
  /** Addresses and CIDR ranges of the proxies in front of the gateway. */
  trustedProxies: readonly string[]
  /** A sentence for each variable that looks like a setting and is none. */
  unknownSettings: readonly string[]
}

const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const

/** Every setting. `must` completes the error "NAME must be …". docs/operating.md has the same table. */
const settings = {
  HOST: { must: 'a host name or an address', schema: z.string().regex(/^[\w.:-]+$/) },
  PORT: { must: 'a port, 0 to 65535', schema: z.coerce.number().int().min(0).max(65535) },
  DATABASE_URL: databaseUrl,
  DATABASE_DIRECT_URL: databaseUrl,
  DATABASE_OWNER_URL: databaseUrl,
  DATABASE_METRICS_URL: databaseUrl,
  DATABASE_REPLICA_URL: databaseUrl,
  REPLICA_MAX_LAG_SECONDS: { must: 'a number of seconds, 1 to 60', schema: z.coerce.number().min(1).max(60) },
  DATABASE_POOL_SIZE: { must: 'a number of connections, 4 to 200', schema: z.coerce.number().int().min(4).max(200) },
  BERTH_DATA_DIR: { must: 'a folder', schema: z.string() },
  RUN_AS: { must: 'the name of a user', schema: z.string().regex(/^\w[\w.-]*$/) },
  DEMO_MARKET: { must: 'true or false', schema: booleanSetting },
  GRAPHIQL: { must: 'true or false', schema: booleanSetting },
  METRICS: { must: 'true or false', schema: booleanSetting },
  BERTH_SECRET: { must: 'a string of at least 16 characters', schema: z.string().min(16) },
  BERTH_NEW_SECRET: { must: 'a string of at least 16 characters', schema: z.string().min(16) },
  SIMULATED_DELAY: { must: 'a factor, 0 to 100', schema: z.coerce.number().min(0).max(100) },
  EVENT_RETENTION_DAYS: {
    must: `a number of days, ${maxRetryDays} to 3650`,
    schema: z.coerce.number().int().min(maxRetryDays).max(3650),
  },
  START_TIMEOUT_MINUTES: minutes,
  OFFLINE_GRACE_MINUTES: minutes,
  DEBT_GRACE_HOURS: hours,
  DRAIN_SECONDS: drainSeconds,
  MINIMUM_RUNWAY_HOURS: hours,
  MAX_INSTANCES: count,
  MAX_LOADING: count,
  MAX_DISK_GB: count,
  MAX_VOLUMES: count,
  SSH_PROXY: { must: 'a host and a port, such as ssh.example.com:2222', schema: sshAddress },
  SSH_PORT: { must: 'a port, 0 or 2 to 65535', schema: portButOne },
  SSH_PUBLIC_ADDRESS: { must: 'a host and a port, such as ssh.example.com:2222', schema: sshAddress },
  GATEWAY_URL: { must: 'a URL without a path, such as https://gateway-1.example.com', schema: gatewayUrl },
  NOTEBOOK_PORT: { must: 'a port, 0 to 65535', schema: z.coerce.number().int().min(0).max(65_535) },
  NOTEBOOK_PUBLIC_URL: { must: 'a URL of a host name, such as https://notebooks.example.com', schema: notebookUrl },
  WEBHOOK_PRIVATE_ADDRESSES: { must: 'true or false', schema: booleanSetting },
  PUBLIC_SEARCH: { must: 'true or false', schema: booleanSetting },
  RATE_LIMIT_POINTS_PER_SECOND: points,
  TRUSTED_PROXIES: { must: 'a list of addresses and ranges, such as 10.0.0.0/8,2001:db8::1', schema: addressRanges },
  LOG_LEVEL: { must: `one of ${logLevels.join(', ')}`, schema: z.enum(logLevels) },
} as const
/** Settings whose values never appear in a message, and may be in files. */
const secretSettings: readonly string[] = [...databaseSettings, 'BERTH_SECRET', 'BERTH_NEW_SECRET']
export const settingNames: readonly string[] = [...Object.keys(settings), ...secretSettings.map(name => `${name}_FILE`)]
type Environment = Record<string, string | undefined>
type Settings = { [Name in keyof typeof settings]?: z.output<(typeof settings)[Name]['schema']> }

/** Reads the settings, or throws one error with a message for every invalid setting. */
export function parseConfig(env: Environment): Config {
  const { HOST = '127.0.0.1', PORT = 4000, ...rest } = readSettings(env)
  const dataDir = resolve(rest.BERTH_DATA_DIR ?? defaultDataDir(env))
  // An operator's own database gets simulated machines only if DEMO_MARKET is true.
  const demoMarket = rest.DEMO_MARKET ?? rest.DATABASE_URL === undefined
  return {
    host: HOST,
    port: PORT,
    databaseUrl: rest.DATABASE_URL,
    directUrl: rest.DATABASE_DIRECT_URL,
    ownerUrl: rest.DATABASE_OWNER_URL,
    metricsUrl: rest.DATABASE_METRICS_URL,
    poolSize: rest.DATABASE_POOL_SIZE ?? 10,
    replica: replicaOf(rest),
    dataDir,
    runAs: rest.RUN_AS,
    demoKeyFile: demoMarket ? join(dataDir, demoKeyFileName(rest.DATABASE_URL)) : undefined,
    graphiql: rest.GRAPHIQL ?? isLoopback(HOST),
    metrics: rest.METRICS ?? isLoopback(HOST),
    logLevel: rest.LOG_LEVEL ?? 'info',
    secret: rest.BERTH_SECRET,
    newSecret: rest.BERTH_NEW_SECRET,
    simulatedDelay: rest.SIMULATED_DELAY ?? 1,
    eventRetentionDays: rest.EVENT_RETENTION_DAYS ?? 90,
    startTimeoutMs: (rest.START_TIMEOUT_MINUTES ?? 30) * 60_000,
    offlineGraceMs: (rest.OFFLINE_GRACE_MINUTES ?? 5) * 60_000,
    debtGraceMs: hoursMs(rest.DEBT_GRACE_HOURS, 48),
    drainMs: drainMsOf(rest),
    minimumRunwayMs: hoursMs(rest.MINIMUM_RUNWAY_HOURS, 1),
    quotas: quotasOf(rest),
    sshProxy: rest.SSH_PROXY ?? null,
    toolboxFile: join(dataDir, 'toolbox.tar'),
    ssh: sshOf(rest),
    notebooks: notebooksOf(rest),
    privateWebhooks: rest.WEBHOOK_PRIVATE_ADDRESSES ?? false,
    gatewayUrl: rest.GATEWAY_URL ?? null,
    ...clientsOf(rest),
    unknownSettings: unknownSettingsOf(env),
  }
}

/** A gateway with the embedded database is alone, so no other gateway could take its requests. */
function drainMsOf({ DRAIN_SECONDS, DATABASE_URL }: Settings): number {
  return (DRAIN_SECONDS ?? (DATABASE_URL === undefined ? 0 : 5)) * 1_000
}

function replicaOf({ DATABASE_REPLICA_URL: url, REPLICA_MAX_LAG_SECONDS: seconds = 5 }: Settings): Config['replica'] {
  return url === undefined ? null : { url, maxLagMs: seconds * 1_000 }
}

function hoursMs(hours: number | undefined, defaultHours: number): number {
  return (hours ?? defaultHours) * 3_600_000
}

function quotasOf({ MAX_INSTANCES, MAX_LOADING, MAX_DISK_GB, MAX_VOLUMES }: Settings): Quotas {
  return {
    instances: MAX_INSTANCES ?? 1_000,
    loading: MAX_LOADING ?? 64,
    diskGb: MAX_DISK_GB ?? 100_000,
    volumes: MAX_VOLUMES ?? 500,
  }
}

function readSettings(environment: Environment): Settings {
  const { env, problems } = readSecretFiles(environment, secretSettings)
  const given: Record<string, unknown> = {}
  for (const [name, { must, schema }] of Object.entries(settings)) {
    if (!env[name]) continue
    const { success, data } = schema.safeParse(env[name])
    if (success) given[name] = data
    else problems.push(`${name} must be ${must}${secretSettings.includes(name) ? '' : `, not "${env[name]}"`}.`)
  }
  problems.push(...databaseProblems(given), ...sshProblems(given), ...notebookProblems(given))
  if (problems.length > 0)
    throw new AggregateError(problems, [...problems, ...unknownSettingsOf(environment)].join('\n'))
  return given
}

function unknownSettingsOf(env: Environment): string[] {
  const given = Object.keys(env).filter(name => env[name])
  return findUnknownSettings({ given, known: settingNames }).map(({ found, advice }) => `${found} ${advice}`)
}

function clientsOf(given: Settings) {
  const { PUBLIC_SEARCH = true, TRUSTED_PROXIES = [], RATE_LIMIT_POINTS_PER_SECOND } = given
  const pointsPerSecond = RATE_LIMIT_POINTS_PER_SECOND ?? limitRules.keyPointsPerSecond
  return { publicSearch: PUBLIC_SEARCH, trustedProxies: TRUSTED_PROXIES, pointsPerSecond }
}
