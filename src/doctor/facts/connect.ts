import pg from 'pg'
import { describeDatabase } from '../../database/embedded/server.ts'
import { errorCodesOf, toError } from '../../database/failure-codes.ts'
import type { ConnectFailure } from '../verdicts/server.ts'

/** No check waits longer for the database. */
const timeouts = { connectionTimeoutMillis: 5_000, query_timeout: 7_000 }
/** What gateways ask for as they connect, unless DATABASE_DIRECT_URL is set. */
const startupParameters = {
  ...{ options: '-c jit=off', statement_timeout: 5_000, lock_timeout: 2_000 },
  ...{ idle_in_transaction_session_timeout: 10_000 },
}

export async function openClient(url: string, parameters: Partial<typeof startupParameters> = {}): Promise<pg.Client> {
  const client = new pg.Client({
    ...{ connectionString: url, application_name: 'berth doctor' },
    ...timeouts,
    ...parameters,
  })
  // A lost connection fails the running query. Without this listener, the error event would end the process.
  client.on('error', () => {})
  await client.connect()
  return client
}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await openClient(url)
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/** Why a connection with the parameters of gateways is refused; undefined if it is not. */
export async function findRefusal(url: string): Promise<string | undefined> {
  try {
    const client = await openClient(url, startupParameters)
    await client.end()
    return undefined
  } catch (error) {
    return toError(error).message
  }
}

/** A setting and the URL that it has. */
export type Way = { setting: string; url: string }

/** Why no connection comes about; undefined if one does. */
export async function findConnectFailure({ setting, url }: Way): Promise<ConnectFailure | undefined> {
  try {
    await withClient(url, client => client.query('SELECT 1'))
    return undefined
  } catch (error) {
    const [code] = errorCodesOf(error)
    // If every address of a host refuses, the combined error has no message.
    const message = toError(error).message || String(code)
    return { setting, database: describeDatabase(url, { dataDir: '' }), code, message }
  }
}
