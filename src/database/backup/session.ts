import type { Duplex } from 'node:stream'
import pg from 'pg'

/** Nothing ends a long statement, and values have the same text on every server. */
const settings = [
  ...['statement_timeout = 0', 'lock_timeout = 0', 'idle_in_transaction_session_timeout = 0'],
  ...[`DateStyle = 'ISO, YMD'`, `IntervalStyle = 'postgres'`, `TimeZone = 'UTC'`, `client_encoding = 'UTF8'`],
  ...['extra_float_digits = 1', `bytea_output = 'hex'`, `search_path = 'public'`],
]

/** Runs the work on a connection of its own. */
export async function withSession<Result>(
  url: string,
  name: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url, application_name: name, keepAlive: true })
  // A lost connection fails the running query. Without this listener, the error event would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(settings.map(setting => `SET ${setting}`).join('; '))
    const result = await work(client)
    await client.end()
    return result
  } catch (error) {
    // In the middle of a COPY, a polite end would wait for the rest of it. The server rolls back.
    const { stream } = (client as pg.Client & { connection: { stream: Duplex } }).connection
    stream.destroy()
    throw error
  }
}
