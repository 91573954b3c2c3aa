// Moves the database of a data folder to a newer PostgreSQL, which cannot read the files of an older one. The old server
// writes a backup, and a new cluster restores it. The old folder stays as it was, and gets another name at the end.

import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openBackupFile } from '../backup/file.ts'
import { restoreBackup } from '../backup/restore.ts'
import { writeBackup } from '../backup/write.ts'
import {
  type Cluster,
  clusterFolderOf,
  initializeCluster,
  passwordFileOf,
  readLastPort,
  startServer,
  stopServer,
} from './cluster.ts'
import { checkCluster, clusterError } from './cluster-check.ts'
import { type EmbeddedOptions, openCluster } from './embedded.ts'
import { findEngine } from './engine.ts'
import { findOlderEngine } from './older-programs.ts'
import { readOwnFile } from './own-files.ts'
import { findPidFileProcess } from './pid-file.ts'
import { databaseName, ownerRole, setUpRoles, urlOf } from './roles.ts'
import { exists, finishUpgrade, swapClusters, upgradedFolderOf } from './swap.ts'

type UpgradeOptions = Omit<EmbeddedOptions, 'role'> & { programs: string | undefined }
/** `kept` is the folder of the old cluster; null if there was nothing to do. */
export type Upgrade = { from: string; to: string; kept: string | null }

/** A crash at any point leaves the old cluster, and the same command begins anew, or finishes the last step. */
export async function upgradeDatabase(options: UpgradeOptions): Promise<Upgrade> {
  const { dataDir, runAs } = options
  const folder = clusterFolderOf(dataDir)
  await finishUpgrade(folder)
  const from = await readMajor(folder)
  if (from === undefined) throw new Error(`The data folder ${dataDir} has no database to upgrade.`)
  const engine = await findEngine({ dataDir, runAs })
  // One of a newer version is refused.
  if (Number(from) >= Number(engine.major)) await checkCluster({ engine, folder })
  if (from === engine.major) return { from, to: engine.major, kept: null }
  const kept = `${folder}-${from}`
  if (await exists(kept)) throw new Error(`${kept} exists already, from an earlier upgrade. Move it away first.`)
  const password = await readOwnFile(passwordFileOf(folder))
  const old = { engine: await findOlderEngine({ ...options, major: from }), folder, password }
  await checkCluster(old)
  const file = join(dataDir, 'upgrade.backup')
  try {
    await moveInto({ engine, folder: upgradedFolderOf(folder), password }, old, { ...options, file })
  } finally {
    await rm(file, { force: true })
  }
  await swapClusters(folder, kept)
  return { from, to: engine.major, kept }
}

async function readMajor(folder: string): Promise<string | undefined> {
  const version = await readFile(join(folder, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  return version?.trim()
}

/** Gateways cannot use the old cluster meanwhile: this process has the lock of the one gateway. */
async function moveInto(next: Cluster, old: Cluster, options: UpgradeOptions & { file: string }): Promise<void> {
  const server = await openCluster(old, { ...options, role: 'upgrade' })
  try {
    await writeBackup(server.urls.ownerUrl, options.file)
    await fillCluster(next, options.file)
  } finally {
    await server.release()
  }
  const user = await findPidFileProcess(old.folder)
  if (user?.isServer) throw clusterError(old.folder, `Another command uses its server ${user.pid}. Repeat the upgrade.`)
}

async function fillCluster(cluster: Cluster, file: string): Promise<void> {
  const unfinished = { ...cluster, folder: `${cluster.folder}.unfinished` }
  for (const leftover of [cluster, unfinished]) await removeCluster(leftover)
  await mkdir(unfinished.folder, { mode: 0o700 })
  await initializeCluster(unfinished, unfinished.folder)
  await startServer(unfinished)
  try {
    const port = (await readLastPort(unfinished)) as number
    await setUpRoles(unfinished, port)
    const backup = await openBackupFile(file)
    const url = urlOf(unfinished, { role: ownerRole, database: databaseName, port })
    await restoreBackup(url, backup, { replace: false }).finally(backup.close)
  } finally {
    await stopServer(unfinished)
  }
  await rename(unfinished.folder, cluster.folder)
}

/** An upgrade that was killed may have left a server that runs. */
async function removeCluster(cluster: Cluster): Promise<void> {
  if ((await findPidFileProcess(cluster.folder))?.isServer) await stopServer(cluster)
  await rm(cluster.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}
