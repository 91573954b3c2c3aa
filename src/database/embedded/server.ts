import pg from 'pg'
import { errorCodesOf, toError } from '../failure-codes.ts'
import { isOtherLine, readHistoryLine } from '../history/line.ts'
import { type DatabaseServer, type DatabaseUrls, type EmbeddedOptions, openEmbedded } from './embedded.ts'

/** The URLs of the operator's own server. Without the others, the role of the first does everything. */
type GivenUrls = { [Name in keyof DatabaseUrls]: string | undefined }

/** The operator's server, or the embedded one if there is no URL. */
export async function openServer(given: GivenUrls, embedded: EmbeddedOptions): Promise<DatabaseServer> {
  const { databaseUrl, ownerUrl = databaseUrl, metricsUrl = databaseUrl } = given
  if (databaseUrl === undefined || ownerUrl === undefined || metricsUrl === undefined)
    return await openEmbedded(embedded)
  const line = await checkServer('DATABASE_URL', databaseUrl)
  for (const [setting, other] of [
    ['DATABASE_OWNER_URL', ownerUrl],
    ['DATABASE_METRICS_URL', metricsUrl],
  ] as const)
    if (other !== databaseUrl && isOtherLine(line, await checkServer(setting, other)))
      throw new Error(`${setting} names another database than DATABASE_URL. Set both to the same database.`)
  return { urls: { databaseUrl, ownerUrl, metricsUrl }, release: async () => {} }
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
async function checkServer(setting: string, url: string): Promise<string> {
  let line: Awaited<ReturnType<typeof readHistoryLine>>
  try {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
    // Without this listener, the error event would end the process.
    client.on('error', () => {})
    await client.connect()
    line = await readHistoryLine(client)
    await client.end()
  } catch (error) {
    // If every address of a host refuses, the combined error has no message.
    const message = toError(error).message || errorCodesOf(error)[0]
    throw new Error(
      `The database that ${setting} names cannot be used: ${message}. Check that the database runs and that the URL is right.`,
    )
  }
  if (line.standby)
    throw new Error(
      `The database that ${setting} names is a standby, which accepts no writes. Set ${setting} to the primary.`,
    )
  return line.name
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
