import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { prepareCluster, readLastPort, startServer, stopServer } from '../../src/database/embedded/cluster.ts'
import { type DatabaseServer, openEmbedded } from '../../src/database/embedded/embedded.ts'
import { copyPrograms } from '../../src/database/embedded/engine.ts'
import { superuser, urlOf } from '../../src/database/embedded/roles.ts'
import { locks } from '../../src/database/locks.ts'
import { migrate } from '../../src/database/migrations.ts'
import { checkPrivileges } from '../../src/database/roles/check.ts'
import { superuserUrl } from '../support/database/embedded-admin.ts'
import { migrateUntil } from '../support/database/migrations.ts'
import { makeDataDir } from '../support/processes/programs.ts'

let dataDir: string
let remove: () => Promise<void>
let gateway: DatabaseServer
let admin: pg.Client
const onLost = (error: Error) => {
  throw error
}

beforeAll(async () => {
  const made = await makeDataDir()
  dataDir = made.dataDir
  remove = made.remove
  gateway = await openEmbedded({ dataDir, role: 'gateway', onLost })
  admin = new pg.Client({ connectionString: await superuserUrl(dataDir, gateway.urls) })
  await admin.connect()
})

afterAll(async () => {
  await admin.end()
  await gateway.release()
  await remove()
})

describe('a second gateway on a data folder', () => {
  it('reports a connection that is cut while it waits for the lock', async () => {
    const second = openEmbedded({ dataDir, role: 'gateway', onLost }).catch((error: unknown) => error)
    const cut = async () => {
      const { rowCount } = await admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'berth gateway%'
         AND query LIKE '%pg_try_advisory_lock%' AND pid NOT IN (SELECT pid FROM pg_locks WHERE objid = $1 AND granted)`,
        [locks.gateway],
      )
      return rowCount
    }
    await expect.poll(cut, { interval: 20 }).toBe(1)
    expect(await second).toMatchObject({ message: expect.stringMatching(/terminat|connection error/) })
  })
})

describe('the roles of the server', () => {
  const openAs = async (url: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return client
  }

  it('are the owner, a gateway and a reader of figures, none of them a superuser', async () => {
    const { databaseUrl, ownerUrl, metricsUrl } = gateway.urls
    const names = [ownerUrl, databaseUrl, metricsUrl].map(url => new URL(url).username)
    expect(names).toEqual(['berth_owner', 'berth_app', 'berth_metrics'])
    expect(new Set([databaseUrl, ownerUrl, metricsUrl].map(url => new URL(url).password)).size).toBe(3)
    const { rows } = await admin.query(
      `SELECT rolname, rolsuper OR rolcreaterole OR rolreplication OR rolbypassrls AS powerful FROM pg_roles WHERE rolname = ANY ($1)`,
      [names],
    )
    expect(rows.map(({ powerful }) => powerful)).toEqual([false, false, false])
    await migrate(ownerUrl)
    const app = await openAs(databaseUrl)
    await checkPrivileges(app)
    // A trigger on a temporary table could change balances.
    for (const statement of ['CREATE TEMP TABLE t (id int)', 'CREATE TABLE t (id int)', 'CREATE SCHEMA t'])
      await expect(app.query(statement)).rejects.toMatchObject({ code: '42501' })
    await app.end()
  })

  it('are set up once: the superuser has no other connection, and none at the next start', async () => {
    const command = await openEmbedded({ dataDir, role: 'command', onLost })
    const { rows } = await admin.query(
      `SELECT DISTINCT usename FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    )
    expect(rows).toEqual([{ usename: 'berth_owner' }])
    await command.release()
    await admin.query('ALTER ROLE berth NOLOGIN')
    const next = await openEmbedded({ dataDir, role: 'command', onLost })
    await next.release()
    await admin.query('ALTER ROLE berth LOGIN')
  })

  it('get the database of a version that used the superuser for everything', async () => {
    const { dataDir, remove } = await makeDataDir()
    const cluster = await prepareCluster(dataDir)
    await startServer(cluster)
    const port = Number(await readLastPort(cluster))
    const urlIn = (database: string) => urlOf(cluster, { role: superuser, database, port })
    const old = await openAs(urlIn('postgres'))
    await old.query('CREATE DATABASE berth')
    await migrateUntil(urlIn('berth'), '20261126060000')
    await old.end()
    const opened = await Promise.all([1, 2].map(() => openEmbedded({ dataDir, role: 'command', onLost })))
    const [{ urls }] = opened as [DatabaseServer, DatabaseServer]
    const owner = await openAs(urls.ownerUrl)
    const { rows } = await owner.query(
      `SELECT relname AS name, relowner AS owner FROM pg_class WHERE relnamespace = 'public'::regnamespace
       UNION ALL SELECT proname, proowner FROM pg_proc WHERE pronamespace = 'public'::regnamespace
       UNION ALL SELECT typname, typowner FROM pg_type WHERE typnamespace = 'public'::regnamespace`,
    )
    const [{ id }] = (await owner.query('SELECT oid AS id FROM pg_roles WHERE rolname = current_user')).rows
    expect(rows.length).toBeGreaterThan(300)
    expect(rows.filter(row => row.owner !== id)).toEqual([])
    expect((await migrate(urls.ownerUrl)).length).toBeGreaterThan(0)
    await owner.end()
    const app = await openAs(urls.databaseUrl)
    await checkPrivileges(app)
    await app.end()
    for (const { release } of opened) await release()
    await remove()
  })
})

it('stops its server within seconds although others start it again at once', async () => {
  const { dataDir, remove } = await makeDataDir()
  const cluster = await prepareCluster(dataDir)
  const seconds: number[] = []
  await startServer(cluster)
  for (let round = 0; round < 8; round += 1) {
    let isStarted = false
    const start = async () => {
      while (!isStarted)
        await startServer(cluster).then(
          () => (isStarted = true),
          () => {},
        )
    }
    const begun = performance.now()
    const started = Promise.all([start(), sleep(30).then(start), sleep(60).then(start)])
    await stopServer(cluster)
    seconds.push((performance.now() - begun) / 1_000)
    await started
  }
  await stopServer(cluster)
  await remove()
  expect(Math.max(...seconds)).toBeLessThan(5)
})

it('starts despite leftovers of killed starts, and removes them', async () => {
  const other = await makeDataDir()
  const leftovers = ['postgres.unfinished-a1B2c3', 'postgres.unfinished-a1B2c3.password']
  // In a container, every start has the same process id, so a name with it may be from another start.
  const unrelatedFiles = [`postgres.${process.pid}`, 'postgres.backup']
  for (const name of [...leftovers, ...unrelatedFiles]) {
    await mkdir(join(other.dataDir, name))
    await writeFile(join(other.dataDir, name, 'file'), '')
  }
  // Two at once: the first to finish removes the folder that the other is still filling.
  await Promise.all([prepareCluster(other.dataDir), prepareCluster(other.dataDir)])
  await prepareCluster(other.dataDir)
  const names = (await readdir(other.dataDir)).filter(name => !name.startsWith('postgres-programs'))
  expect(names.toSorted()).toEqual(['postgres', 'postgres-password', ...unrelatedFiles].toSorted())
  await other.remove()
})

it.each([0o027, 0o077])('creates folders that the database can enter under umask %i', async umask => {
  const other = await makeDataDir()
  const before = process.umask(umask)
  try {
    await prepareCluster(join(other.dataDir, 'new', 'data'))
  } finally {
    process.umask(before)
    await other.remove()
  }
})

describe('an unusable path for the data folder', () => {
  const advice = 'Set BERTH_DATA_DIR to another folder.'

  it.each(['/proc/berth', '/proc/berth/data', '/dev/null', '/dev/null/berth'])(
    'is refused at once: %s',
    async folder => {
      const message = new RegExp(`^The data folder ${folder} cannot be used: .*\\. ${advice}$`)
      await expect(prepareCluster(folder)).rejects.toThrow(message)
    },
  )
})

it.each([
  ['a file', (path: string) => writeFile(path, '')],
  ['a foreign folder', (path: string) => mkdir(join(path, 'x'), { recursive: true })],
])('refuses %s in the place of the database, and keeps it', async (_what, put) => {
  const other = await makeDataDir()
  const folder = join(other.dataDir, 'postgres')
  await put(folder)
  await expect(prepareCluster(other.dataDir)).rejects.toThrow(
    `${folder} exists already, and its contents are not from Berth. Move it away, or set BERTH_DATA_DIR to another folder.`,
  )
  expect((await readdir(other.dataDir)).filter(name => name.includes('unfinished'))).toEqual([])
  await other.remove()
})

it('copies programs that only root may read, so that the database user can run them', async () => {
  const other = await makeDataDir()
  const installed = join(other.dataDir, 'installed')
  await mkdir(join(installed, 'bin'), { recursive: true })
  await writeFile(join(installed, 'bin', 'initdb'), '', { mode: 0o700 })
  await writeFile(join(installed, 'readme'), '', { mode: 0o600 })
  await chmod(join(installed, 'bin'), 0o700)
  const bin = await copyPrograms(join(installed, 'bin'), other.dataDir)
  const modes = [bin, join(bin, 'initdb'), join(bin, '..'), join(bin, '../readme')].map(
    async path => (await stat(path)).mode & 0o777,
  )
  expect(await Promise.all(modes)).toEqual([0o755, 0o755, 0o755, 0o644])
  await other.remove()
})
