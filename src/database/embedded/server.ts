import pg from 'pg'
import { errorCodesOf, toError } from '../failure-codes.ts'
import { type EmbeddedOptions, openEmbedded } from './embedded.ts'

type DatabaseServer = { url: string; release(): Promise<void> }

/** The operator's server, or the one that Berth brings along. */
export async function openServer(url: string | undefined, embedded: EmbeddedOptions): Promise<DatabaseServer> {
  if (url === undefined) return await openEmbedded(embedded)
  await checkServer(url)
  return { url, release: async () => {} }
}

/** Where that is, for people: neither the user nor the password is in it. */
export function describeDatabase(url: string | undefined, { dataDir }: Pick<EmbeddedOptions, 'dataDir'>): string {
  if (url === undefined) return `the data folder ${dataDir}`
  try {
    // As the driver reads it, which is more than what stands in the URL. It does not connect.
    const { host, port, database } = new pg.Client({ connectionString: url })
    return `the database ${database} at ${host}:${port}`
  } catch {
    return 'the database that DATABASE_URL names'
  }
}

/** What fails later cannot say which setting is wrong. */
async function checkServer(url: string): Promise<void> {
  let standby: boolean
  try {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
    // Unheard, the event would end the process.
    client.on('error', () => {})
    await client.connect()
    const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby')
    await client.end()
    standby = rows[0].standby
  } catch (error) {
    // When every address of a host refuses, the error of all of them has no words.
    const message = toError(error).message || errorCodesOf(error)[0]
    throw new Error(
      `The database that DATABASE_URL names cannot be used: ${message}. See that it runs, and that the URL is right.`,
    )
  }
  if (standby)
    throw new Error(
      'The database that DATABASE_URL names is a standby, which takes no changes. Name the primary instead.',
    )
}

/** A database on the same server, made for this work and dropped after it. */
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
