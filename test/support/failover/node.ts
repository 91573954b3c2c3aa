// A database server under Patroni. It can be killed whole, and come back with its data.

import { readdirSync, readFileSync } from 'node:fs'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type FaultyProxy, startFaultyProxy } from '../database/faulty-proxy.ts'
import { type NodeAddresses, passwords, patroniConfiguration } from './configuration.ts'
import { type Daemon, freePorts, startDaemon, unprivilegedUser } from './programs.ts'

export type DatabaseNode = Awaited<ReturnType<typeof createNode>>
type NodeOptions = { name: string; folder: string; etcdPort: number; synchronous: boolean }

export async function createNode({ name, folder: parent, etcdPort, synchronous }: NodeOptions) {
  const [port = 0, restPort = 0] = await freePorts(2)
  const folder = join(parent, name)
  const runAs = unprivilegedUser()
  // The other servers reach this one through a proxy, so that a test can stop the replication alone.
  const link: FaultyProxy = await startFaultyProxy(`postgresql://127.0.0.1:${port}/postgres`)
  const addresses: NodeAddresses = { name, port, restPort, publicPort: Number(new URL(link.url).port) }
  const file = join(folder, 'patroni.yml')
  await mkdir(folder)
  await writeFile(file, patroniConfiguration(addresses, { folder, etcdPort, synchronous }))
  if (runAs.uid !== undefined) await chown(folder, runAs.uid, runAs.gid as number)
  let patroni: Daemon | undefined
  let earlierOutput = ''
  let isFrozen = false

  /** The processes of PostgreSQL. */
  function databaseProcesses(): number[] {
    const postmaster = readPostmaster(folder)
    return postmaster ? [postmaster, ...childrenOf(postmaster)] : []
  }
  /** Patroni's processes get the signal, too. */
  function signalAll(signal: NodeJS.Signals): void {
    if (patroni) signalIfAlive(-patroni.pid, signal)
    for (const pid of databaseProcesses()) signalIfAlive(pid, signal)
  }

  return {
    addresses,
    link,
    /** Past HAProxy. */
    urlOf: (database: string) => `postgresql://postgres:${passwords.superuser}@127.0.0.1:${port}/${database}`,
    rest: `http://127.0.0.1:${restPort}`,
    output: () => earlierOutput + (patroni?.output() ?? ''),
    isRunning: () => patroni !== undefined && !isFrozen,
    start(): void {
      earlierOutput += patroni?.output() ?? ''
      patroni = startDaemon('patroni', [file], folder, runAs)
    },
    /** Kills Patroni and all processes of PostgreSQL at once, as a power cut does. */
    async kill(): Promise<void> {
      const killed = patroni
      patroni = undefined
      earlierOutput += killed?.output() ?? ''
      const processes = databaseProcesses()
      const stopping = killed?.stop('SIGKILL')
      for (const pid of processes) signalIfAlive(pid, 'SIGKILL')
      await stopping
    },
    /** All of its processes stand still, as on a computer that hangs. Their connections stay open. */
    freeze(): void {
      isFrozen = true
      signalAll('SIGSTOP')
    },
    /**
     * Ends a server that stands still, as a watchdog does, and starts it. If it went on, Patroni 3.0.2 could take its role back: see
     * the page.
     */
    async reset(): Promise<void> {
      await this.kill()
      isFrozen = false
      this.start()
    },
    close: () => link.close(),
  }
}

function readPostmaster(folder: string): number | undefined {
  try {
    return Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0])
  } catch {
    return undefined
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => parentOf(pid) === parent)
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
