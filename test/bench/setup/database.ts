import { join } from 'node:path'
import pg from 'pg'
import { openEmbedded } from '../../../src/database/embedded/embedded.ts'
import { superuserUrl } from '../../support/database/embedded-admin.ts'

export type BenchDatabase = {
  url: string
  /** A connection of the bench itself, for set-up and counters. */
  client: pg.Client
  stop(): Promise<void>
}

/** Where programs find their database and put their logs. */
export type Place = { database: BenchDatabase; folder: string }

/**
 * Settings of the server besides its defaults, the same for all. JIT compilation takes longer than these statements, and
 * Berth turns it off itself.
 */
const settings = { shared_preload_libraries: 'pg_stat_statements', jit: 'off' }

/** Starts the PostgreSQL that comes along with Berth, with its statements counted. */
export async function startDatabase(folder: string): Promise<BenchDatabase> {
  const dataDir = join(folder, 'database')
  const onLost = (error: Error) => {
    throw error
  }
  const open = () => openEmbedded({ dataDir, role: 'command', onLost })
  const unconfigured = await open()
  await configure(await superuserUrl(dataDir, unconfigured.urls))
  // The last one to leave stops the server. The next start reads the settings.
  await unconfigured.release()
  const { urls, release } = await open()
  const url = await superuserUrl(dataDir, urls)
  const client = await connect(url)
  await client.query('CREATE EXTENSION pg_stat_statements')
  return {
    url,
    client,
    async stop() {
      await client.end()
      await release()
    },
  }
}

async function configure(url: string): Promise<void> {
  const client = await connect(url)
  for (const [name, value] of Object.entries(settings)) await client.query(`ALTER SYSTEM SET ${name} = '${value}'`)
  await client.end()
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'bench' })
  // An interrupted bench stops the server under a running statement. Without this listener, the error event would end the
  // process before it has cleaned up.
  client.on('error', () => {})
  await client.connect()
  return client
}
