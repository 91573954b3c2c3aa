// A data folder of an older PostgreSQL, as npm has it, moves to the one that comes along.

import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  type Cluster,
  clusterFolderOf,
  initializeCluster,
  passwordFileOf,
  readLastPort,
  startServer,
  stopServer,
} from '../../../src/database/embedded/cluster.ts'
import { findOlderEngine } from '../../../src/database/embedded/older-programs.ts'
import { writeNewFile } from '../../../src/database/embedded/own-files.ts'
import { ownerRole, setUpRoles, urlOf } from '../../../src/database/embedded/roles.ts'
import { appRole, metricsRole } from '../../../src/database/roles/privileges.ts'
import { runKilled } from '../../support/backup/commands.ts'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { superuserUrl } from '../../support/database/embedded-admin.ts'
import { withSession } from '../../support/database/sessions.ts'
import { blocksOf, readPage } from '../../support/docs.ts'
import { createClient, newestCursor } from '../../support/failover/client.ts'
import { makeDataDir, runBerth, spawnProgram, startGateway, stopProgram } from '../../support/processes/programs.ts'

const run = promisify(execFile)
const older = '17'
const [install = '', upgrade = ''] = blocksOf(readPage('docs/operating.md'), 'sh upgrade').join('').trim().split('\n')

let programs: string
let data: Awaited<ReturnType<typeof makeDataDir>>
let folder: string
let env: Record<string, string>
/** What a renter had before the upgrade. */
let renter: { apiKey: string; instanceId: string; cursor: string }

beforeAll(async () => {
  programs = await mkdtemp(join(tmpdir(), 'berth-older-'))
  data = await makeDataDir()
  folder = clusterFolderOf(data.dataDir)
  env = { BERTH_DATA_DIR: data.dataDir, BERTH_SECRET: 'a secret of these tests', SIMULATED_DELAY: '0' }
  await run('bash', ['-euc', install.replaceAll(`/tmp/postgres-${older}`, programs)])
  await useOlder(await makeOlder())
  // The programs were copied there if the database's user may not enter their folder.
  for (const name of await readdir(data.dataDir))
    if (name.startsWith('postgres-programs-')) await rm(join(data.dataDir, name), { recursive: true })
})

afterAll(async () => {
  await data?.remove()
  if (programs) await rm(programs, { recursive: true, force: true })
})

/** A cluster as an older version of Berth made it. */
async function makeOlder(): Promise<Cluster> {
  const { dataDir } = data
  const cluster = {
    ...{ folder, password: 'the password of the superuser' },
    engine: await findOlderEngine({ dataDir, major: older, programs }),
  }
  await writeNewFile(passwordFileOf(folder), cluster.password)
  await mkdir(folder, { mode: 0o700 })
  await initializeCluster(cluster, folder)
  return cluster
}

async function useOlder(cluster: Cluster): Promise<void> {
  await startServer(cluster)
  await fillOlder(cluster).finally(() => stopServer(cluster))
}

async function fillOlder(cluster: Cluster): Promise<void> {
  const port = (await readLastPort(cluster)) as number
  await setUpRoles(cluster, port)
  const url = (role: string) => urlOf(cluster, { role, database: 'berth', port })
  const urls = {
    DATABASE_URL: url(appRole),
    DATABASE_OWNER_URL: url(ownerRole),
    DATABASE_METRICS_URL: url(metricsRole),
  }
  const gateway = await startGateway({ ...env, ...urls, DEMO_MARKET: 'true' })
  const { result } = await runBerth(
    { ...env, ...urls },
    'account',
    'create',
    '--email',
    'ada@example.com',
    '--credit',
    '100',
  )
  const client = createClient(gateway.url, result.apiKey)
  const { data: found } = await client.ask('{ offers(first: 1, filter: { verified: true }) { nodes { id } } }')
  const instanceId = await client.rent(found.offers.nodes[0].id, 'before')
  await vi.waitFor(async () => expect(await statusOf(client, instanceId)).toBe('RUNNING'), { timeout: 60_000 })
  renter = { apiKey: result.apiKey, instanceId, cursor: await newestCursor(client) }
  expect(await stopProgram(gateway)).toBe(0)
}

async function statusOf({ ask }: ReturnType<typeof createClient>, id: string): Promise<string | undefined> {
  return (await ask(`{ instance(id: "${id}") { status } }`)).data?.instance?.status
}

const majorOf = async (path: string) => (await readFile(join(path, 'PG_VERSION'), 'utf8').catch(() => '')).trim()

it('is refused before the server starts, and the message says what to do', async () => {
  const gateway = spawnProgram('src/main.ts', [], { ...env, PORT: '0' })
  expect([await gateway.exit, gateway.output()]).toEqual([1, ''])
  expect(gateway.errors()).toContain(`PostgreSQL ${older} made the folder`)
  expect(gateway.errors()).toContain('"upgrade-database"')
  await expect(access(join(folder, 'postmaster.pid'))).rejects.toThrow('ENOENT')
})

it('needs the older programs, and the message says where they come from', async () => {
  for (const [args, where] of [
    [[], 'were not found'],
    [['--programs', data.dataDir], `are not in ${data.dataDir}`],
  ] as const) {
    const { code, errors } = await runBerth(env, 'upgrade-database', ...args)
    expect(code).toBe(1)
    expect(errors).toContain(`The programs of PostgreSQL ${older}, which made the database, ${where}.`)
    expect(errors).toContain('npm install')
  }
})

it('stays as it was when the upgrade is killed, at any time', async () => {
  let killed = 0
  for (let afterMs = 1_200; afterMs < 12_000; afterMs += 700) {
    if (!(await runKilled(afterMs, env, 'upgrade-database', '--programs', programs))) break
    killed += 1
    // Either nothing has happened, or only the last step is left.
    expect(['', older]).toContain(await majorOf(folder))
    if ((await majorOf(folder)) === '') expect(await majorOf(`${folder}-upgraded`)).toBe('18')
  }
  expect(killed).toBeGreaterThan(1)
})

describe('after the upgrade', () => {
  beforeAll(async () => {
    const command = upgrade.replaceAll(`/tmp/postgres-${older}`, programs)
    const { DATABASE_URL: _, ...inherited } = process.env
    const { stdout } = await run('bash', ['-euc', command], { env: { ...inherited, ...env } })
    expect(JSON.parse(stdout)).toMatchObject({ to: '18' })
  })

  it('the old database is kept, and nothing else is left', async () => {
    expect([await majorOf(folder), await majorOf(`${folder}-${older}`)]).toEqual(['18', older])
    const names = (await readdir(data.dataDir)).filter(name => !name.startsWith('postgres-programs-'))
    expect(names.toSorted().filter(name => !name.startsWith('demo-key'))).toEqual([
      ...['postgres', `postgres-${older}`, 'postgres-password'],
    ])
  })

  it('the command has nothing to do', async () => {
    const { result } = await runBerth(env, 'upgrade-database')
    expect(result).toEqual({ from: '18', to: '18', kept: null })
  })

  it('a gateway has everything as it was, and finishes an upgrade that was killed between two renames', async () => {
    await rename(folder, `${folder}-upgraded`)
    const gateway = await startGateway(env)
    const client = createClient(gateway.url, renter.apiKey)
    await expect.poll(() => statusOf(client, renter.instanceId), { timeout: 60_000 }).toBe('RUNNING')
    expect(await client.codeOf(`{ events(first: 1, after: "${renter.cursor}") { nodes { id } } }`)).toBe(
      'CURSOR_EXPIRED',
    )
    const url = await superuserUrl(data.dataDir, { databaseUrl: await databaseUrl() })
    await withSession(url, async session => {
      expect(await brokenLaws(async text => (await session.query(text)).rows)).toEqual([])
    })
    expect(await stopProgram(gateway)).toBe(0)
    const { result } = await runBerth(env, 'failover', 'list')
    expect(result).toMatchObject({ restored: true })
  })
})

/** A URL with the port of the server that runs in the data folder. */
async function databaseUrl(): Promise<string> {
  const port = (await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n')[3]
  return `postgresql://berth@127.0.0.1:${port}/berth`
}
