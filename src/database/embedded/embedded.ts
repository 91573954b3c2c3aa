// The database that Berth brings along: one PostgreSQL server per data folder, on loopback, behind a password.
//
// Any number of processes use it (a gateway, operator commands) and none owns it. Whoever needs it starts it, or finds
// it running, also after a crash, and holds a shared advisory lock for as long. Whoever leaves last, because it gets
// that lock alone, stops the server. A gateway holds a second lock alone, so that there is one per data folder.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { errorCodesOf, toError } from '../failure-codes.ts'
import { locks } from '../locks.ts'
import { type Cluster, passwordFileOf, prepareCluster, readLastPort, startServer, stopServer } from './cluster.ts'
import { asSentence, clusterError } from './cluster-check.ts'
import { findPidFileProcess } from './pid-file.ts'

export type EmbeddedServer = { url: string; release(): Promise<void> }
export type EmbeddedOptions = {
  dataDir: string
  role: 'gateway' | 'command'
  /** The server stopped under us, and did not come back. */
  onLost: (error: Error) => void
}

export async function openEmbedded({ dataDir, role, onLost }: EmbeddedOptions): Promise<EmbeddedServer> {
  const cluster = await prepareCluster(dataDir)
  let lockClient = await connectAndLock()
  let isReleased = false
  return {
    url: urlOf(cluster, lockClient.port, 'berth'),
    async release() {
      isReleased = true
      await releaseServer(cluster, lockClient)
    },
  }

  async function connectAndLock(): Promise<pg.Client> {
    const client = await connect(cluster, `berth ${role}, process ${process.pid}`)
    if (role === 'gateway') await lockDataDir(client, dataDir)
    await createDatabase(client)
    // A server that crashed forgot our locks: without them, a command that leaves would stop it under us.
    client.once('error', () => isReleased || connectAndLock().then(again => (lockClient = again), onLost))
    return client
  }
}

/** A server that runs or was killed may change by itself. One that ends at each start will not get better. */
const retryLimitMs = { changing: 30_000, ending: 2_000 }

/** A connection that marks the server as in use. Starting it, and waiting while others start or stop it, is included. */
async function connect(cluster: Cluster, name: string): Promise<pg.Client> {
  const since = new Map<ConnectProblem['state'], number>()
  for (;;) {
    const port = await readLastPort(cluster)
    const client = new pg.Client({
      connectionString: urlOf(cluster, port ?? 0, 'postgres'),
      application_name: name,
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
    })
    // Whoever waits for a query hears of a lost connection there. Unheard, the event would end the process.
    client.on('error', () => {})
    try {
      if (port === undefined) throw new Error('It was not running.')
      await client.connect()
      await client.query('SELECT pg_advisory_lock_shared($1)', [locks.serverInUse])
      return client
    } catch (error) {
      client.end().catch(() => {})
      const { state, cause } = await startIfStopped(cluster, toError(error))
      const first = since.get(state) ?? performance.now()
      if (performance.now() - first > retryLimitMs[state]) throw cause
      since.set(state, first)
      await sleep(50)
    }
  }
}

type ConnectProblem = { state: keyof typeof retryLimitMs; cause: Error }

/** Starts the server unless it runs. Returns what may pass, and throws what will not. */
async function startIfStopped(cluster: Cluster, refused: Error): Promise<ConnectProblem> {
  const { folder } = cluster
  const before = await findPidFileProcess(folder)
  if (before?.isServer) {
    if (errorCodesOf(refused).includes('28P01') || refused.message.includes('client password'))
      throw clusterError(folder, `It does not take the password in ${passwordFileOf(folder)}.`)
    const cause = `It runs as process ${before.pid}, and takes no connections: ${asSentence(refused.message)}`
    return { state: 'changing', cause: clusterError(folder, cause) }
  }
  try {
    await startServer(cluster)
    return { state: 'changing', cause: clusterError(folder, asSentence(refused.message)) }
  } catch (error) {
    const cause = toError(error)
    const holder = await findPidFileProcess(folder)
    // Another process started it in the meantime, or the server was killed, and it or its last queries still end.
    if (holder?.isServer || holder?.isZombie || cause.message.includes('shared memory block'))
      return { state: 'changing', cause }
    if (!holder?.command || holder.pid !== before?.pid) return { state: 'ending', cause }
    const stale = `Its server ended without removing postmaster.pid, which now names process ${holder.pid} (${holder.command}).`
    throw clusterError(folder, `${stale} Remove that file and start again.`)
  }
}

/** A gateway that was killed leaves its lock a moment later, so this asks for a second before it gives up. */
async function lockDataDir(client: pg.Client, dataDir: string): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS locked', [locks.gateway])
    if (rows[0].locked) return
    await sleep(100)
  }
  const { rows } = await client.query(
    `SELECT application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND objid = $1 AND granted`,
    [locks.gateway],
  )
  await client.end()
  const other = rows[0]?.name ?? 'another gateway'
  throw new Error(
    `The data folder ${dataDir} is in use by ${other}. Stop it first, or set BERTH_DATA_DIR to another folder.`,
  )
}

async function createDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = 'berth'")
  if (rowCount) return
  await client.query('CREATE DATABASE berth').catch((error: { code?: string }) => {
    // Another process made it in the meantime.
    if (error.code !== '42P04' && error.code !== '23505') throw error
  })
}

async function releaseServer(cluster: Cluster, client: pg.Client): Promise<void> {
  await client.query('SELECT pg_advisory_unlock_shared($1)', [locks.serverInUse])
  const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS alone', [locks.serverInUse])
  // Stopped while the lock is held: whoever comes now waits for it, loses the connection, and starts the server again.
  if (rows[0].alone) await stopServer(cluster)
  await client.end().catch(() => {})
}

function urlOf({ password }: Cluster, port: number, database: string): string {
  return `postgresql://berth:${password}@127.0.0.1:${port}/${database}`
}
