// A server whose roles are those of docs/operating.md.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type Cluster,
  prepareCluster,
  readLastPort,
  startServer,
  stopServer,
} from '../../src/database/embedded/cluster.ts'
import { superuser, urlOf } from '../../src/database/embedded/roles.ts'
import { withSession } from '../support/database/sessions.ts'
import { blocksOf, chapterOf, readPage } from '../support/docs.ts'
import { makeDataDir, runBerth, spawnProgram, startGateway, stopProgram } from '../support/processes/programs.ts'

const chapter = chapterOf(readPage('docs/operating.md'), '### Roles of the database')
const BERTH_SECRET = 'a secret of tests'

let folder: Awaited<ReturnType<typeof makeDataDir>>
let cluster: Cluster
let port: number
/** The settings that the page exports. */
let env: Record<string, string>

const asSuperuser = <T>(database: string, work: (admin: pg.Client) => Promise<T>) =>
  withSession(urlOf(cluster, { role: superuser, database, port }), work)

beforeAll(async () => {
  folder = await makeDataDir()
  cluster = await prepareCluster(folder.dataDir)
  await startServer(cluster)
  port = Number(await readLastPort(cluster))
  const [sql = ''] = blocksOf(chapter, 'sql')
  const [before = '', after = ''] = sql.split('\\connect berth\n')
  await asSuperuser('postgres', async admin => {
    // CREATE DATABASE cannot share a query with other statements.
    for (const statement of before.split('\n').filter(line => line !== '')) await admin.query(statement)
  })
  await asSuperuser('berth', admin => admin.query(after))
  const [script = ''] = blocksOf(chapter, 'sh roles')
  const settings = [...script.matchAll(/^export ([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => {
    return [name, value.replace('db.example.com', `127.0.0.1:${port}`)]
  })
  env = { ...Object.fromEntries(settings), BERTH_SECRET, BERTH_DATA_DIR: join(folder.dataDir, 'gateway') }
})

afterAll(async () => {
  await stopServer(cluster)
  await folder.remove()
})

it('is migrated by the command of the page, and then serves gateways that do not know the owner', async () => {
  const { DATABASE_OWNER_URL = '', DATABASE_URL = '', ...others } = env
  const unready = spawnProgram('src/main.ts', [], { ...env, DATABASE_OWNER_URL: DATABASE_URL, PORT: '0' })
  expect([await unready.exit, unready.errors()]).toEqual([
    1,
    expect.stringMatching(
      /^Berth cannot start\.\nThe role of the database URL may not migrate the database: .*\. Set DATABASE_OWNER_URL/,
    ),
  ])
  const [script = ''] = blocksOf(chapter, 'sh roles')
  const pasted = script.replaceAll('db.example.com', `127.0.0.1:${port}`)
  const { stdout } = await promisify(execFile)('bash', ['-euc', pasted], { env: { ...process.env, ...others } })
  expect(JSON.parse(stdout).migrations.length).toBeGreaterThan(0)
  expect(await runBerth({ ...env, DATABASE_OWNER_URL }, 'database', 'migrate')).toMatchObject({
    result: { migrations: [] },
  })

  const gateway = await startGateway({ ...env, DATABASE_OWNER_URL: DATABASE_URL })
  expect((await fetch(`${gateway.url}/ready`)).status).toBe(200)
  expect(await (await fetch(`${gateway.url}/metrics`)).text()).toContain('berth_due_work{kind="billing"} 0\n')
  const roles = await asSuperuser('berth', async admin => {
    const { rows } = await admin.query(
      `SELECT DISTINCT usename AS role FROM pg_stat_activity WHERE datname = 'berth' AND pid <> pg_backend_pid() ORDER BY 1`,
    )
    return rows.map(({ role }) => role)
  })
  expect(roles).toEqual(['berth_app', 'berth_metrics'])
  expect(await stopProgram(gateway)).toBe(0)
})

it('keeps the role of gateways from changing the ledger and from temporary tables, and other roles from the database', async () => {
  await withSession(env['DATABASE_URL'] as string, async session => {
    for (const statement of ['DELETE FROM ledger_entries', 'TRUNCATE ledger_entries', 'CREATE TEMP TABLE t (id int)'])
      await expect(session.query(statement)).rejects.toMatchObject({ code: '42501' })
  })
  await asSuperuser('postgres', admin => admin.query("CREATE ROLE other LOGIN PASSWORD 'other'"))
  const other = Object.assign(new URL(env['DATABASE_URL'] as string), { username: 'other', password: 'other' })
  await expect(withSession(other.href, async () => {})).rejects.toMatchObject({ code: '42501' })
})

it('is refused if the URLs name two databases', async () => {
  const DATABASE_METRICS_URL = (env['DATABASE_METRICS_URL'] as string).replace(/berth$/, 'postgres')
  const gateway = spawnProgram('src/main.ts', [], { ...env, DATABASE_METRICS_URL, PORT: '0' })
  expect([await gateway.exit, gateway.errors()]).toEqual([
    1,
    'Berth cannot start.\nDATABASE_METRICS_URL names another database than DATABASE_URL. Set both to the same database.\n',
  ])
})
