// PostgreSQL on three database servers, as docs/high-availability.md configures it.

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { inject } from 'vitest'
import { createRoles } from '../database/logins.ts'
import { withSession } from '../database/sessions.ts'
import { haproxyConfiguration, passwords } from './configuration.ts'
import { createNode, type DatabaseNode } from './node.ts'
import { type Daemon, freePorts, startDaemon } from './programs.ts'

export type Cluster = Awaited<ReturnType<typeof startCluster>>
type Member = { name: string; role: string; state: string; lag?: number | string }

const timeoutMs = 180_000

export async function startCluster({ synchronous }: { synchronous: boolean }) {
  const folder = await mkdtemp(join(tmpdir(), 'berth-failover-'))
  await chmod(folder, 0o711)
  const [etcdPort = 0, peerPort = 0, primaryPort = 0, replicasPort = 0] = await freePorts(4)
  const daemons: Daemon[] = [startEtcd(folder, etcdPort, peerPort)]
  const nodes: DatabaseNode[] = []
  for (const name of ['db-1', 'db-2', 'db-3']) nodes.push(await createNode({ name, folder, etcdPort, synchronous }))
  const file = join(folder, 'haproxy.cfg')
  const addresses = nodes.map(node => node.addresses)
  await writeFile(file, haproxyConfiguration(addresses, { primary: primaryPort, replicas: replicasPort }))
  const urlOf = (port: number) => `postgresql://postgres:${passwords.superuser}@127.0.0.1:${port}/berth`

  /** What the running servers know of each other. */
  async function members(): Promise<Member[]> {
    for (const node of nodes.filter(one => one.isRunning())) {
      const answer = await fetch(`${node.rest}/cluster`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined)
      if (answer?.ok) return ((await answer.json()) as { members: Member[] }).members
    }
    return []
  }

  async function until<T>(what: string, find: () => Promise<T | undefined>): Promise<T> {
    const end = performance.now() + timeoutMs
    while (performance.now() < end) {
      const found = await find().catch(() => undefined)
      if (found !== undefined) return found
      await sleep(100)
    }
    throw new Error(`Waited too long for ${what}.\n${nodes.map(node => node.output().slice(-3_000)).join('\n\n')}`)
  }

  const cluster = {
    primaryUrl: urlOf(primaryPort),
    replicasUrl: urlOf(replicasPort),
    nodes,
    /** The server that accepts writes, by its own word. */
    primary: () =>
      until('a primary', async () => {
        for (const node of nodes.filter(one => one.isRunning())) {
          const answer = await fetch(`${node.rest}/primary`, { signal: AbortSignal.timeout(2_000) }).catch(
            () => undefined,
          )
          if (answer?.status === 200) return node
        }
        return undefined
      }),
    /** Resolves when all running servers follow the primary, one of them synchronously if the cluster is so. */
    untilComplete: () =>
      until('the standbys', async () => {
        const running = nodes.filter(node => node.isRunning()).length
        const found = await members()
        const following = found.filter(({ state }) => state === 'running' || state === 'streaming')
        const isSafe = !synchronous || found.some(({ role }) => role === 'sync_standby')
        return following.length >= running && isSafe && found.some(({ role }) => role === 'leader') ? true : undefined
      }),
    /** Hands the primary's role to another server once all are well: until then, no standby can take it. */
    async switchOver(): Promise<DatabaseNode> {
      const old = await cluster.primary()
      const body = JSON.stringify({ leader: old.addresses.name })
      await until('Patroni to switch over', async () => {
        const { ok } = await fetch(`${old.rest}/switchover`, { method: 'POST', body })
        return ok || undefined
      })
      return await until('the other primary', async () => {
        const now = await cluster.primary()
        return now === old ? undefined : now
      })
    },
    async stop(): Promise<void> {
      for (const node of nodes) await node.kill()
      for (const daemon of daemons.toReversed()) await daemon.stop('SIGKILL')
      for (const node of nodes) node.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
  try {
    for (const node of nodes) node.start()
    daemons.push(startDaemon('haproxy', ['-db', '-f', file], folder))
    const first = await cluster.primary()
    await cluster.untilComplete()
    const logins = inject('logins')
    await withSession(first.urlOf('postgres'), admin => createRoles(admin, logins))
    await run(first.urlOf('postgres'), `CREATE DATABASE berth OWNER ${logins.owner.username}`)
    await until('HAProxy', async () => await run(cluster.primaryUrl, 'SELECT 1'))
    return cluster
  } catch (error) {
    await cluster.stop()
    throw error
  }
}

function startEtcd(folder: string, port: number, peerPort: number): Daemon {
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`]
  const place = ['--name', 'etcd-1', '--data-dir', join(folder, 'etcd'), '--enable-v2=false']
  const clients = ['--listen-client-urls', client, '--advertise-client-urls', client]
  const peers = [
    '--listen-peer-urls',
    peer,
    '--initial-advertise-peer-urls',
    peer,
    '--initial-cluster',
    `etcd-1=${peer}`,
  ]
  return startDaemon('etcd', [...place, ...clients, ...peers], folder)
}

export async function run(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 10_000 })
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query(sql).finally(() => client.end())
  return rows
}
