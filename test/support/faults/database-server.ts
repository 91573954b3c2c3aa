// A PostgreSQL server of a suite, which restarts, crashes and stands still on command. With libfaketime, its clock jumps. For a user who
// may mount, its disk is full on command.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { prepareCluster, readLastPort, startServer, stopServer } from '../../../src/database/embedded/cluster.ts'
import { logFileOf } from '../../../src/database/embedded/cluster-check.ts'
import { createRoles } from '../database/logins.ts'
import { mountSmallDisk } from '../database/small-disk.ts'
import { makeDataDir } from '../processes/programs.ts'

/**
 * For so many seconds, a process keeps the offset of its clock. If it read the offset more often, the reads of libfaketime in the
 * handlers of PostgreSQL's signals would abort sessions.
 */
const clockCacheSeconds = 1
/** libfaketime compares whole seconds, and keeps an offset until the difference is greater. */
const clockSettleMs = (clockCacheSeconds + 1) * 1_000 + 200

export type DatabaseServer = Awaited<ReturnType<typeof startDatabaseServer>>

export async function startDatabaseServer() {
  const { dataDir, remove } = await makeDataDir()
  const disk = await mountSmallDisk(dataDir)
  const cluster = await prepareCluster(dataDir)
  const { engine, folder } = cluster
  const offsetFile = join(dataDir, 'clock')
  const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1')
  const clockEnv: Record<string, string> =
    library === undefined
      ? {}
      : {
          LD_PRELOAD: library,
          FAKETIME_TIMESTAMP_FILE: offsetFile,
          FAKETIME_CACHE_DURATION: String(clockCacheSeconds),
          FAKETIME_DONT_FAKE_MONOTONIC: '1',
        }
  /** Renamed, since the server must never read a part of it. */
  const setClock = async (seconds: number) => {
    await writeFile(`${offsetFile}.next`, `${seconds < 0 ? '' : '+'}${seconds}\n`)
    await rename(`${offsetFile}.next`, offsetFile)
  }
  await setClock(0)
  // The first start chooses the port, which all later ones keep.
  await startServer(cluster)
  const port = await readLastPort(cluster)
  await stopServer(cluster)
  // With little spare WAL, a full disk ends it soon.
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=200
    -c min_wal_size=32MB -c max_wal_size=128MB`.replaceAll(/\s+/g, ' ')

  let isClockLoaded = false
  async function control(...args: string[]): Promise<void> {
    const env = { ...process.env, ...(isClockLoaded && clockEnv), LC_ALL: 'C' }
    const child = spawn(engine.pgCtl, [...args, '--silent', '-D', folder], { ...engine.runAs, env, cwd: '/' })
    const printed = Promise.all([text(child.stderr), text(child.stdout)])
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`pg_ctl ${args[0]}: ${(await printed).join('\n')}`)
  }
  const start = () => control('start', '--wait', '-l', logFileOf(folder), '-o', settings)
  const stop = (mode: 'fast' | 'immediate') => control('stop', '--wait', `--mode=${mode}`)
  /** It may have ended, or may end yet: when it recovers from a crash and finds no space for that. */
  async function isUp(): Promise<boolean> {
    const isRunning = await control('status').then(
      () => true,
      () => false,
    )
    if (!isRunning) await start().catch(() => {})
    return await succeeds('SELECT 1')
  }
  async function succeeds(text: string): Promise<boolean> {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
    // A connection that is lost fails the query, too.
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query(text)
      return true
    } catch {
      return false
    } finally {
      client.end().catch(() => {})
    }
  }
  /** Of the server and all of its processes. */
  async function findProcesses(): Promise<number[]> {
    const [pid] = (await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n')
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return [pid, ...children.trim().split(' ')].map(Number)
  }
  const signal = (processes: number[], name: NodeJS.Signals) => {
    for (const pid of processes) {
      try {
        process.kill(pid, name)
      } catch {
        // It has ended.
      }
    }
  }
  const url = `postgresql://berth:${cluster.password}@127.0.0.1:${port}/berth`
  await start()
  const client = new pg.Client({ connectionString: url.replace(/[^/]*$/, 'postgres') })
  await client.connect()
  const logins = inject('logins')
  await createRoles(client, logins)
  await client.query(`CREATE DATABASE berth OWNER ${logins.owner.username}`).finally(() => client.end())

  return {
    /** The superuser's, for the suite's own SQL. */
    url,
    hasClock: library !== undefined,
    start,
    stop,
    /** The server and its sessions stand still meanwhile. */
    async pause(meanwhile: () => Promise<unknown>): Promise<void> {
      const processes = await findProcesses()
      signal(processes, 'SIGSTOP')
      await meanwhile().finally(() => signal(processes, 'SIGCONT'))
    },
    /** The server's clock can be set meanwhile. The server restarts before and after. */
    async withClock(meanwhile: () => Promise<unknown>): Promise<void> {
      const restart = async (isLoaded: boolean) => {
        isClockLoaded = isLoaded
        await stop('fast')
        await start()
      }
      await restart(true)
      await meanwhile().finally(() => restart(false))
    },
    /** How far the server's clock is ahead from now on. Its processes go on. */
    async setClock(seconds: number): Promise<void> {
      await setClock(seconds)
      await sleep(clockSettleMs)
    },
    hasDisk: disk !== undefined,
    /** There is no space on the server's disk meanwhile. */
    async withFullDisk(meanwhile: () => Promise<unknown>): Promise<void> {
      await disk?.fill()
      await meanwhile().finally(async () => {
        await disk?.free()
        await expect.poll(isUp, { timeout: 60_000, interval: 100 }).toBe(true)
      })
    },
    /** Uses up the WAL that the server has in store, until it crashes because there is no space for more. */
    async exhaustWal(): Promise<void> {
      while (await succeeds(`SELECT pg_logical_emit_message(false, 'test', ''); SELECT pg_switch_wal()`));
    },
    async close() {
      await stop('immediate').catch(() => {})
      await disk?.unmount()
      await remove()
    },
  }
}
