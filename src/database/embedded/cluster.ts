// Creates a PostgreSQL server's files in a data folder, and starts and stops the server.

import { randomBytes } from 'node:crypto'
import { link, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { toError } from '../failure-codes.ts'
import { createFolderAtomically } from './atomic-folder.ts'
import {
  asSentence,
  checkCluster,
  clusterError,
  logFileOf,
  parseFailureCause,
  readFailureCause,
  readLogSize,
} from './cluster-check.ts'
import { makeDataDir, withDataDirErrors } from './data-dir.ts'
import { canReach, type Engine, findEngine, runProgram } from './engine.ts'
import { changeFolder, readOwnFile, writeNewFile } from './own-files.ts'
import { findPidFileProcess } from './pid-file.ts'
import { superuser } from './roles.ts'
import { finishUpgrade } from './swap.ts'

export type Cluster = { engine: Engine; folder: string; password: string }

/** Returns the data folder's cluster, and creates it if there is none. */
export async function prepareCluster(dataDir: string, runAs?: string): Promise<Cluster> {
  await makeDataDir(dataDir)
  return await withDataDirErrors(dataDir, () => prepareClusterIn(dataDir, runAs))
}

async function prepareClusterIn(dataDir: string, runAs: string | undefined): Promise<Cluster> {
  const folder = clusterFolderOf(dataDir)
  await finishUpgrade(folder)
  const engine = await findEngine({ dataDir, runAs })
  if (!(await canReach(dataDir, engine.runAs))) {
    const advice = 'Set BERTH_DATA_DIR to a folder that this user can enter, or DATABASE_URL to a server of your own.'
    throw new Error(
      `PostgreSQL runs as the user "${engine.runAs.name}", who cannot enter the data folder ${dataDir}. ${advice}`,
    )
  }
  await checkCluster({ engine, folder })
  const cluster = { engine, folder, password: await loadOrCreatePassword(passwordFileOf(folder)) }
  const fill = (unfinished: string) => initializeCluster(cluster, unfinished)
  await createFolderAtomically({ folder: cluster.folder, requiredEntry: 'PG_VERSION', fill })
  return cluster
}

export function clusterFolderOf(dataDir: string): string {
  return join(dataDir, 'postgres')
}

export function passwordFileOf(folder: string): string {
  return `${folder}-password`
}

/** The password is written once and never changed, so processes that start together use the same one. */
async function loadOrCreatePassword(file: string): Promise<string> {
  const kept = await readOwnFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (kept !== undefined) return kept
  const fresh = `${file}.${randomBytes(6).toString('hex')}`
  await writeNewFile(fresh, randomBytes(24).toString('base64url'))
  await link(fresh, file)
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    .finally(() => rm(fresh))
  return await readOwnFile(file)
}

/** Fills an empty folder, which need not be the cluster's yet. */
export async function initializeCluster({ engine, password }: Cluster, folder: string): Promise<void> {
  const passwordFile = `${folder}.password`
  const { uid, gid } = engine.runAs
  const owner = uid === undefined || gid === undefined ? undefined : { uid, gid }
  // One that was killed in the middle of this may have left it.
  await rm(passwordFile, { force: true })
  await writeNewFile(passwordFile, password, owner)
  if (owner) await changeFolder(folder, handle => handle.chown(owner.uid, owner.gid))
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const access = [`--username=${superuser}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  try {
    await runProgram(engine.initdb, ['-D', folder, ...locale, ...access], engine.runAs)
  } catch (error) {
    const { message } = toError(error)
    throw new Error(
      `PostgreSQL cannot create its files in ${dirname(folder)}. ${parseFailureCause(message) ?? message}`,
    )
  } finally {
    await rm(passwordFile, { force: true })
  }
}

/** The port of the running server, or of one that crashed. */
export async function readLastPort({ folder }: Cluster): Promise<number | undefined> {
  const pidFile = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => '')
  return Number(pidFile.split('\n')[3]) || undefined
}

/**
 * Starts the server detached from this process, so a signal to the terminal does not reach it. pg_ctl waits until the
 * server accepts connections or ends.
 */
export async function startServer(cluster: Cluster): Promise<void> {
  const { engine, folder } = cluster
  const since = await readLogSize(folder)
  try {
    const port = await findFreePort(await readLastPort(cluster))
    const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''`
    const log = ['-l', logFileOf(folder), '-o', settings]
    await runProgram(engine.pgCtl, ['start', '--wait', '--silent', '-D', folder, ...log], engine.runAs)
  } catch (error) {
    const { message } = toError(error)
    throw clusterError(
      folder,
      (await readFailureCause(folder, since)) ?? parseFailureCause(message) ?? asSentence(message),
    )
  }
}

/** Longer than a server takes that only writes its last checkpoint. */
const stopLimitMs = 60_000

/**
 * Stops the server and waits until it has ended. Not with pg_ctl, which would wait for the end of any server of the folder:
 * another process may start one at once.
 */
export async function stopServer({ engine, folder }: Cluster): Promise<void> {
  const server = await findPidFileProcess(folder)
  await runProgram(engine.pgCtl, ['stop', '--no-wait', '--silent', '--mode=fast', '-D', folder], engine.runAs)
  const deadline = performance.now() + stopLimitMs
  for (;;) {
    const now = await findPidFileProcess(folder)
    if (!now || now.pid !== server?.pid || now.isZombie) return
    if (performance.now() > deadline) throw clusterError(folder, `The server ${now.pid} does not stop.`)
    await sleep(20)
  }
}

/** The preferred port if it is free: clients from before a crash then find the server at the same port. */
function findFreePort(preferred = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', error => (preferred ? resolve(findFreePort()) : reject(error)))
    probe.listen(preferred, '127.0.0.1', () => {
      const address = probe.address()
      // The address is a string only for a pipe, and null only for a closed socket.
      const port = typeof address === 'object' && address ? address.port : 0
      probe.close(() => resolve(port))
    })
  })
}
