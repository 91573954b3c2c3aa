// A PostgreSQL server of a test's own, and a standby that follows it by streaming.

import { execFile } from 'node:child_process'
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Cluster, findCluster, lastPort, startServer, stopServer } from '../../../src/database/embedded/cluster.ts'
import { runProgram } from '../../../src/database/embedded/engine.ts'
import { makeDataDir } from '../processes/process.ts'

export type Pair = {
  primaryUrl: string
  standbyUrl: string
  /** Runs on one of the two servers, past every gateway. */
  on(url: string, sql: string): Promise<Record<string, unknown>[]>
  /** The standby has everything that the primary has. */
  caughtUp(): Promise<void>
  /** From now on the standby gets nothing more. */
  disconnect(): Promise<void>
  /** The primary dies, and the standby takes its place on a timeline of its own. */
  failOver(): Promise<void>
  close(): Promise<void>
}

export async function startPair(): Promise<Pair> {
  const { dataDir, remove } = await makeDataDir()
  const primary = await findCluster(dataDir)
  const standby: Cluster = { ...primary, folder: join(dataDir, 'standby') }
  await promisify(execFile)('cp', ['-a', primary.folder, standby.folder])
  const primaryUrl = await start(primary)
  await on(withName(primaryUrl, 'postgres'), 'CREATE DATABASE berth')
  const { port } = new URL(primaryUrl)
  const source = `host=127.0.0.1 port=${port} user=berth password=${primary.password}`
  await appendFile(join(standby.folder, 'postgresql.conf'), `primary_conninfo = '${source}'\n`)
  await writeFile(join(standby.folder, 'standby.signal'), '')
  const standbyUrl = await start(standby)
  let living = [standby, primary]

  return {
    primaryUrl,
    standbyUrl,
    on,
    async caughtUp() {
      const [at] = await on(primaryUrl, 'SELECT pg_current_wal_lsn() AS lsn')
      for (;;) {
        const [row] = await on(standbyUrl, `SELECT pg_last_wal_replay_lsn() >= '${at?.['lsn']}' AS done`)
        if (row?.['done']) return
      }
    },
    async disconnect() {
      await on(standbyUrl, "ALTER SYSTEM SET primary_conninfo = ''")
      await on(standbyUrl, 'SELECT pg_reload_conf()')
      const receivers = () => on(standbyUrl, 'SELECT FROM pg_stat_wal_receiver')
      while ((await receivers()).length > 0);
    },
    async failOver() {
      living = [standby]
      const { engine, folder } = primary
      await runProgram(engine.ctl, ['stop', '--silent', '--mode=immediate', '-D', folder], engine.runAs)
      await on(standbyUrl, 'SELECT pg_promote()')
    },
    async close() {
      for (const cluster of living) await stopServer(cluster)
      await remove()
    },
  }
}

async function start(cluster: Cluster): Promise<string> {
  await startServer(cluster)
  return `postgresql://berth:${cluster.password}@127.0.0.1:${await lastPort(cluster)}/berth`
}

function withName(url: string, name: string): string {
  return url.replace(/[^/]*$/, name)
}

async function on(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(sql).finally(() => client.end())
  return rows
}
