import pg from 'pg'
import { errorCodesOf, toError } from '../failure-codes.ts'
import { isOtherLine, readHistoryLine } from '../history/line.ts'
import { isPooled } from '../pooler/detect.ts'
import { type DatabaseServer, type DatabaseUrls, type EmbeddedOptions, openEmbedded } from './embedded.ts'

/** The URLs of the operator's own server. Without the others, the role of the first does everything. */
type GivenUrls = { [Name in keyof DatabaseUrls]: string | undefined }

/** The operator's server, or the embedded one if there is no URL. */
export async function openServer(given: GivenUrls, embedded: EmbeddedOptions): Promise<DatabaseServer> {
  const { databaseUrl, directUrl } = given
  if (databaseUrl === undefined) return await openEmbedded(embedded)
  const line = await checkServer('DATABASE_URL', databaseUrl, { mayBePooled: directUrl !== undefined })
  for (const [setting, other] of [
    ['DATABASE_DIRECT_URL', directUrl],
    ['DATABASE_OWNER_URL', given.ownerUrl],
    ['DATABASE_METRICS_URL', given.metricsUrl],
  ] as const)
    if (other !== undefined && isOtherLine(line, await checkServer(setting, other)))
      throw new Error(`${setting} names another database than DATABASE_URL. Set both to the same database.`)
  const { ownerUrl = directUrl ?? databaseUrl, metricsUrl = directUrl ?? databaseUrl } = given
  return { urls: { databaseUrl, directUrl, ownerUrl, metricsUrl }, release: async () => {} }
}

/** Names the database for people, without the user and the password. */
export function describeDatabase(url: string | undefined, { dataDir }: Pick<EmbeddedOptions, 'dataDir'>): string {
  if (url === undefined) return `the data folder ${dataDir}`
  try {
    // The driver also knows the defaults for parts that the URL omits. Creating a client does not connect.
    const { host, port, database } = new pg.Client({ connectionString: url })
    return `the database ${database} at ${host}:${port}`
  } catch {
    return 'the database that DATABASE_URL names'
  }
}

/** Checks at the start: later errors cannot say which setting is wrong. Returns the name of the database's line of history. */
async function checkServer(setting: string, url: string, { mayBePooled = false } = {}): Promise<string> {
  const { name, standby, pooled } = await askServer(url, mayBePooled).catch((error: unknown) => {
    // If every address of a host refuses, the combined error has no message.
    const message = toError(error).message || errorCodesOf(error)[0]
    throw new Error(
      `The database that ${setting} names cannot be used: ${message}. Check that the database runs and that the URL is right.`,
    )
  })
  if (standby)
    throw new Error(
      `The database that ${setting} names is a standby, which accepts no writes. Set ${setting} to the primary.`,
    )
  if (pooled) throw new Error(pooledMessage(setting))
  return name
}

async function askServer(url: string, mayBePooled: boolean) {
  const client = await connect(url)
  try {
    const line = await readHistoryLine(client)
    return { ...line, pooled: !mayBePooled && (await isPooled(client, () => connect(url))) }
  } finally {
    await client.end()
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  // Without this listener, the error event would end the process.
  client.on('error', () => {})
  await client.connect()
  return client
}

function pooledMessage(setting: string): string {
  const found = `${setting} leads through a pooler of transactions, such as PgBouncer`
  return setting === 'DATABASE_URL'
    ? `${found}. Berth needs some connections that are its own: set DATABASE_DIRECT_URL to PostgreSQL itself, for the same database and role.`
    : `${found}. Set it to PostgreSQL itself: only DATABASE_URL may lead through one.`
}

/** Creates a database on the same server for the work, and drops it afterwards. */
export async function withScratchDatabase<T>(url: string, work: (url: string) => Promise<T>): Promise<T> {
  const name = `berth_scratch_${process.pid}_${Date.now()}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${name}`)
    return await work(withDatabase(url, name))
  } finally {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    await client.end()
  }
}

export function withDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}
