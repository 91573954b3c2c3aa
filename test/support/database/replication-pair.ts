// A PostgreSQL server for one test, and a standby that follows it by streaming replication.

import { execFile } from 'node:child_process'
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { inject } from 'vitest'
import {
  type Cluster,
  prepareCluster,
  readLastPort,
  startServer,
  stopServer,
} from '../../../src/database/embedded/cluster.ts'
import { runProgram } from '../../../src/database/embedded/engine.ts'
import { makeDataDir } from '../processes/programs.ts'
import { createRoles } from './logins.ts'
import { withSession } from './sessions.ts'

export type ReplicationPair = {
  primaryUrl: string
  standbyUrl: string
  /** Runs SQL on one of the two servers, past every gateway. */
  runSql(url: string, sql: string): Promise<Record<string, unknown>[]>
  /** Resolves when the standby has everything that the primary has. */
  waitUntilCaughtUp(): Promise<void>
  /** Stops the replication to the standby. */
  disconnectStandby(): Promise<void>
  /** Promotes the standby while the primary goes on, and does not know of it. */
  promoteStandby(): Promise<void>
  /** Kills the primary and promotes the standby, which starts a timeline of its own. */
  failOver(): Promise<void>
  close(): Promise<void>
}

export async function startReplicationPair(): Promise<ReplicationPair> {
  const { dataDir, remove } = await makeDataDir()
  const primary = await prepareCluster(dataDir)
  const standby: Cluster = { ...primary, folder: join(dataDir, 'standby') }
  await promisify(execFile)('cp', ['-a', primary.folder, standby.folder])
  const primaryUrl = await startCluster(primary)
  const logins = inject('logins')
  await withSession(withDatabaseName(primaryUrl, 'postgres'), admin => createRoles(admin, logins))
  await runSql(withDatabaseName(primaryUrl, 'postgres'), `CREATE DATABASE berth OWNER ${logins.owner.username}`)
  const { port } = new URL(primaryUrl)
  const primaryConninfo = `host=127.0.0.1 port=${port} user=berth password=${primary.password}`
  await appendFile(join(standby.folder, 'postgresql.conf'), `primary_conninfo = '${primaryConninfo}'\n`)
  await writeFile(join(standby.folder, 'standby.signal'), '')
  const standbyUrl = await startCluster(standby)
  let runningClusters = [standby, primary]

  return {
    primaryUrl,
    standbyUrl,
    runSql,
    async waitUntilCaughtUp() {
      const [at] = await runSql(primaryUrl, 'SELECT pg_current_wal_lsn() AS lsn')
      for (;;) {
        const [row] = await runSql(standbyUrl, `SELECT pg_last_wal_replay_lsn() >= '${at?.['lsn']}' AS done`)
        if (row?.['done']) return
      }
    },
    async disconnectStandby() {
      await runSql(standbyUrl, "ALTER SYSTEM SET primary_conninfo = ''")
      await runSql(standbyUrl, 'SELECT pg_reload_conf()')
      const receivers = () => runSql(standbyUrl, 'SELECT FROM pg_stat_wal_receiver')
      while ((await receivers()).length > 0);
    },
    async promoteStandby() {
      await runSql(standbyUrl, 'SELECT pg_promote()')
    },
    async failOver() {
      runningClusters = [standby]
      const { engine, folder } = primary
      await runProgram(engine.pgCtl, ['stop', '--silent', '--mode=immediate', '-D', folder], engine.runAs)
      await runSql(standbyUrl, 'SELECT pg_promote()')
    },
    async close() {
      for (const cluster of runningClusters) await stopServer(cluster)
      await remove()
    },
  }
}

async function startCluster(cluster: Cluster): Promise<string> {
  await startServer(cluster)
  return `postgresql://berth:${cluster.password}@127.0.0.1:${await readLastPort(cluster)}/berth`
}

function withDatabaseName(url: string, name: string): string {
  return url.replace(/[^/]*$/, name)
}

async function runSql(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(sql).finally(() => client.end())
  return rows
}
