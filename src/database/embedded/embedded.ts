// The embedded database: one PostgreSQL server per data folder, on loopback, behind a password.
//
// Any number of processes (a gateway, operator commands) use the server, and none owns it. A process starts the server
// or finds it running, even after a crash, and holds a shared advisory lock while it uses the server. The last process
// to leave gets that lock exclusively, and stops the server. A gateway also holds an exclusive lock of its own, so a
// data folder has one gateway. The owner of the database holds the locks: its superuser only sets up the roles.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { errorCodesOf, toError } from '../failure-codes.ts'
import { locks } from '../locks.ts'
import { appRole, metricsRole } from '../roles/privileges.ts'
import { type Cluster, passwordFileOf, prepareCluster, readLastPort, startServer, stopServer } from './cluster.ts'
import { asSentence, clusterError } from './cluster-check.ts'
import { findPidFileProcess } from './pid-file.ts'
import { databaseName, ownerRole, setUpRoles, urlOf } from './roles.ts'

/** One URL for each role: the gateway's, the owner's, and the reader's of figures. */
export type DatabaseUrls = {
  databaseUrl: string
  /** Absent unless `databaseUrl` leads through a pooler of transactions. */
  directUrl?: string | undefined
  ownerUrl: string
  metricsUrl: string
}
export type DatabaseServer = { urls: DatabaseUrls; release(): Promise<void> }
export type EmbeddedOptions = {
  dataDir: string
  /** A restore or an upgrade keeps gateways away, as a gateway does. */
  role: 'gateway' | 'command' | 'restore' | 'upgrade'
  /** The user that the server runs as, if root starts this process. */
  runAs?: string | undefined
  /** Called when the server stopped during use and could not be started again. */
  onLost: (error: Error) => void
}

export async function openEmbedded(options: EmbeddedOptions): Promise<DatabaseServer> {
  return await openCluster(await prepareCluster(options.dataDir, options.runAs), options)
}

/** Uses the server of a cluster, and starts it if it does not run. */
export async function openCluster(
  cluster: Cluster,
  { dataDir, role, onLost }: Omit<EmbeddedOptions, 'runAs'>,
): Promise<DatabaseServer> {
  let holding = connectAndLock()
  const { port } = await holding
  let isReleased = false
  const urlAs = (role: string) => urlOf(cluster, { role, database: databaseName, port })
  return {
    urls: { databaseUrl: urlAs(appRole), ownerUrl: urlAs(ownerRole), metricsUrl: urlAs(metricsRole) },
    async release() {
      isReleased = true
      // After a crash of the server, this process may be about to connect again.
      await releaseServer(cluster, await holding)
    },
  }

  async function connectAndLock(): Promise<pg.Client> {
    const client = await connect(cluster, `berth ${role}, process ${process.pid}`)
    if (role !== 'command') await lockDataDir(client, dataDir)
    // A crashed server forgets our locks. Without them, a command that leaves would stop the server during our use.
    client.once('error', () => {
      if (isReleased) return
      holding = connectAndLock()
      holding.catch(onLost)
    })
    return client
  }
}

/**
 * How long connecting is retried. A server that runs or was killed may recover without help; a server that ends at each
 * start will not.
 */
const retryLimitMs = { changing: 30_000, ending: 2_000 }

/**
 * Opens a connection that marks the server as in use. Starts the server, or waits for processes that start or stop it.
 */
async function connect(cluster: Cluster, name: string): Promise<pg.Client> {
  const since = new Map<ConnectProblem['state'], number>()
  for (;;) {
    const port = await readLastPort(cluster)
    const client = new pg.Client({
      connectionString: urlOf(cluster, { role: ownerRole, database: 'postgres', port: port ?? 0 }),
      application_name: name,
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
    })
    // A lost connection fails the running query. Without this listener, the error event would end the process.
    client.on('error', () => {})
    try {
      if (port === undefined) throw new Error('The server was not running.')
      await client.connect()
      await client.query('SELECT pg_advisory_lock_shared($1)', [locks.serverInUse])
      return client
    } catch (error) {
      client.end().catch(() => {})
      const problem = await setUpIfRefused(cluster, port ?? 0, toError(error))
      if (!problem) continue
      const { state, cause } = await startIfStopped(cluster, problem)
      const first = since.get(state) ?? performance.now()
      if (performance.now() - first > retryLimitMs[state]) throw cause
      since.set(state, first)
      await sleep(50)
    }
  }
}

/**
 * Sets up the roles if the server refused the owner: it has none yet, if it is new or of a version that used the superuser for
 * everything. Returns why connecting still fails; undefined if it may succeed now.
 */
async function setUpIfRefused(cluster: Cluster, port: number, refused: Error): Promise<Error | undefined> {
  if (!errorCodesOf(refused).includes('28P01')) return refused
  return await setUpRoles(cluster, port).then(() => undefined, toError)
}

type ConnectProblem = { state: keyof typeof retryLimitMs; cause: Error }

/** Starts the server unless it runs. Returns a problem that may pass, and throws one that will not. */
async function startIfStopped(cluster: Cluster, refused: Error): Promise<ConnectProblem> {
  const { folder } = cluster
  const before = await findPidFileProcess(folder)
  if (before?.isServer) {
    if (errorCodesOf(refused).includes('28P01') || refused.message.includes('client password'))
      throw clusterError(folder, `The server rejects the password in ${passwordFileOf(folder)}.`)
    const cause = `The server runs as process ${before.pid}, but accepts no connections: ${asSentence(refused.message)}`
    return { state: 'changing', cause: clusterError(folder, cause) }
  }
  try {
    await startServer(cluster)
    return { state: 'changing', cause: clusterError(folder, asSentence(refused.message)) }
  } catch (error) {
    const cause = toError(error)
    const holder = await findPidFileProcess(folder)
    // Another process started the server meanwhile, or the server was killed and its processes are still ending.
    if (holder?.isServer || holder?.isZombie || cause.message.includes('shared memory block'))
      return { state: 'changing', cause }
    if (!holder?.command || holder.pid !== before?.pid) return { state: 'ending', cause }
    const stale = `The server ended without removing postmaster.pid, which now names process ${holder.pid} (${holder.command}).`
    throw clusterError(folder, `${stale} Remove that file and start again.`)
  }
}

/** The lock of a killed gateway is released a moment later, so this retries for one second. */
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

async function releaseServer(cluster: Cluster, client: pg.Client): Promise<void> {
  await client.query('SELECT pg_advisory_unlock_shared($1)', [locks.serverInUse])
  const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS alone', [locks.serverInUse])
  // The lock is still held: a process that connects now waits for it, loses the connection, and starts the server
  // again.
  if (rows[0].alone) await stopServer(cluster)
  await client.end().catch(() => {})
}
