import pg from 'pg'
import { errorCodesOf, toError } from '../failure-codes.ts'
import { type EmbeddedOptions, openEmbedded } from './embedded.ts'

type DatabaseServer = { url: string; release(): Promise<void> }

/** The operator's server, or the embedded one if there is no URL. */
export async function openServer(url: string | undefined, embedded: EmbeddedOptions): Promise<DatabaseServer> {
  if (url === undefined) return await openEmbedded(embedded)
  await checkServer(url)
  return { url, release: async () => {} }
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

/** Checks at the start: later errors cannot say which setting is wrong. */
async function checkServer(url: string): Promise<void> {
  let standby: boolean
  try {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
    // Without this listener, the error event would end the process.
    client.on('error', () => {})
    await client.connect()
    const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby')
    await client.end()
    standby = rows[0].standby
  } catch (error) {
    // If every address of a host refuses, the combined error has no message.
    const message = toError(error).message || errorCodesOf(error)[0]
    throw new Error(
      `The database that DATABASE_URL names cannot be used: ${message}. Check that the database runs and that the URL is right.`,
    )
  }
  if (standby)
    throw new Error(
      'The database that DATABASE_URL names is a standby, which accepts no writes. Set DATABASE_URL to the primary.',
    )
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
