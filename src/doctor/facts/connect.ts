import pg from 'pg'
import { describeDatabase } from '../../database/embedded/server.ts'
import { errorCodesOf, toError } from '../../database/failure-codes.ts'
import type { ConnectFailure } from '../verdicts/server.ts'

/** No check waits longer for the database. */
const timeouts = {
  connectionTimeoutMillis: 5_000,
  statement_timeout: 5_000,
  query_timeout: 7_000,
  lock_timeout: 2_000,
  idle_in_transaction_session_timeout: 10_000,
}

/** Connects with the startup parameters of gateways, so that a pooler that refuses them shows. */
export async function openClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    ...{ connectionString: url, application_name: 'berth doctor', options: '-c jit=off' },
    ...timeouts,
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

/** Why no connection comes about; undefined if one does. */
export async function findConnectFailure(setting: string, url: string): Promise<ConnectFailure | undefined> {
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
