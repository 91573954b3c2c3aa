// Gateways whose connections lead through Debian's PgBouncer, which gives each transaction any of a few connections.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/database/client.ts'
import { openServer } from '../../../src/database/embedded/server.ts'
import { newestMigration, sessionName } from '../../../src/database/history/versions.ts'
import { createOperations } from '../../../src/services/operations.ts'
import { withoutQuotasSql } from '../../support/accounts/unbounded.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { type GatewayFleet, startGatewayFleet } from '../../support/crashes/gateway-fleet.ts'
import {
  expectCommandsOnce,
  expectConsistentEvents,
  expectMachinesMatchDesired,
  expectOneRentalPerKey,
  findUnsettledInstances,
} from '../../support/crashes/invariants.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type FaultyProxy, startFaultyProxy } from '../../support/database/faulty-proxy.ts'
import { type ReplicationPair, startReplicationPair } from '../../support/database/replication-pair.ts'
import { urlAs } from '../../support/database/roles.ts'
import { startReader } from '../../support/events/readers.ts'
import { listMachines } from '../../support/factories.ts'
import { createClient } from '../../support/failover/client.ts'
import { expectConverged, expectInvariants } from '../../support/instances/rental-invariants.ts'
import { createRenters, type Renter } from '../../support/instances/renters.ts'
import { runBerth, spawnProgram } from '../../support/processes/programs.ts'
import { findPgbouncer, type Pgbouncer, startPgbouncer } from '../../support/proxies/pgbouncer.ts'
import { createSeededRandom } from '../../support/seeded-random.ts'
import { subscribeSse } from '../../support/streams.ts'

// PGBOUNCER_SEED repeats the commands of a run, but not how they interleave.
const seed = Number(process.env['PGBOUNCER_SEED'] ?? Date.now() % 2 ** 31)
const loadMs = 30_000
const machineIds = [1, 2, 3]
/** Fewer than the gateways have connections to it. */
const connections = 6

const program = await findPgbouncer()

describe.skipIf(!program)('behind a pooler of transactions', () => {
  let database: TestDatabase
  let pooler: Pgbouncer
  let pool: pg.Pool

  beforeAll(async () => {
    database = await createDatabase()
    pooler = await startPgbouncer(program ?? [], database.url, { connections })
    pool = new pg.Pool({ connectionString: database.url, max: 8, application_name: 'test' })
  })
  afterAll(async () => {
    await pool?.end()
    await pooler?.stop()
    await database?.drop()
  })

  const sql = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await pool.query(text, values)).rows

  describe('a start', () => {
    const embedded = { dataDir: '/dev/null', role: 'gateway', onLost: () => {} } as const
    const open = (given: { databaseUrl?: string; directUrl?: string; ownerUrl?: string }) =>
      openServer(
        { databaseUrl: urlAs('app', pooler.url), ownerUrl: undefined, metricsUrl: undefined, ...given },
        embedded,
      )

    it('is refused without a URL that leads to PostgreSQL itself', async () => {
      await expect(open({})).rejects.toThrow(
        'DATABASE_URL leads through a pooler of transactions, such as PgBouncer. Berth needs some connections that are its own: set DATABASE_DIRECT_URL to PostgreSQL itself, for the same database and role.',
      )
    })

    it.each([
      ['DATABASE_DIRECT_URL', () => ({ directUrl: urlAs('app', pooler.url) })],
      ['DATABASE_OWNER_URL', () => ({ directUrl: urlAs('app', database.url), ownerUrl: urlAs('owner', pooler.url) })],
    ])('is refused if %s leads through it, too', async (name, urls) => {
      await expect(open(urls())).rejects.toThrow(
        `${name} leads through a pooler of transactions, such as PgBouncer. Set it to PostgreSQL itself: only DATABASE_URL may lead through one.`,
      )
    })

    it('is refused while other clients keep the pooler busy, too', async () => {
      const busy = new pg.Pool({ connectionString: urlAs('app', pooler.url), max: 20 })
      let isOver = false
      const clients = Array.from({ length: 20 }, async () => {
        while (!isOver) await busy.query('SELECT pg_sleep(random() / 1000)')
      })
      for (let tries = 0; tries < 20; tries += 1) await expect(open({})).rejects.toThrow('leads through a pooler')
      isOver = true
      await Promise.all(clients)
      await busy.end()
    })

    it('is not refused for a pooler of sessions, or without one', async () => {
      const sessions = await startPgbouncer(program ?? [], database.url, { mode: 'session' })
      for (const url of [sessions.url, database.url])
        for (let tries = 0; tries < 10; tries += 1)
          expect((await open({ databaseUrl: urlAs('app', url) })).urls.databaseUrl).toBe(urlAs('app', url))
      await sessions.stop()
    })
  })

  describe('gateways', () => {
    let fleet: GatewayFleet
    let renters: Renter[]
    const env = () => ({
      DATABASE_URL: urlAs('app', pooler.url),
      DATABASE_DIRECT_URL: urlAs('app', database.url),
      DATABASE_OWNER_URL: urlAs('owner', database.url),
      BERTH_SECRET: 'a secret of these tests',
      ...{ DEMO_MARKET: 'false', GRAPHIQL: 'false', SIMULATED_DELAY: '0.03', LOG_LEVEL: 'info', METRICS: 'true' },
    })

    beforeAll(async () => {
      const own = openDatabase({ url: urlAs('app', database.url), poolSize: 2, onIdleError: () => {} })
      const operations = createOperations({ database: own })
      await listMachines(
        operations,
        machineIds.map(() => ({ machine: { numGpus: 8 } })),
      )
      renters = []
      for (const email of ['ada@example.com', 'bob@example.com']) {
        const { account, apiKey } = await operations.accounts.create({ email, creditNanos: 1_000_000_000_000n })
        renters.push({ accountId: account.id, apiKey })
        await sql(withoutQuotasSql(account.id))
      }
      await own.close()
      fleet = await startGatewayFleet(env(), 2)
    })
    afterAll(() => fleet?.killAll())

    it('serve renters and readers as ever, while one of them is killed', async () => {
      process.stdout.write(`PGBOUNCER_SEED=${seed}\n`)
      const random = createSeededRandom(seed)
      const driver = createRenters({ renters, pick: fleet.pickUrl, sql })
      const readers = await Promise.all(
        renters.flatMap(renter =>
          (['sse', 'websocket'] as const).map(transport =>
            startReader({ renter, transport, chance: random.fork(), pick: fleet.pickUrl }),
          ),
        ),
      )
      const endMs = performance.now() + loadMs
      const isOver = () => performance.now() > endMs
      const load = renters.flatMap(renter => [1, 2, 3].map(() => driver.run(random.fork(), renter, isOver)))
      await Promise.all([...load, sleep(loadMs / 3).then(() => fleet.killAndReplace(random.fork()))])
      await expect.poll(() => findUnsettledInstances(sql), { timeout: 120_000, interval: 250 }).toEqual([])
      for (const { close } of readers) await close()
      const received = readers.reduce((sum, { ids }) => sum + ids.length, 0)
      process.stdout.write(`${JSON.stringify({ ...driver.counts, received })}\n`)

      expect(driver.counts.rentals).toBeGreaterThan(10)
      expect(received).toBeGreaterThan(50)
      for (const machineId of machineIds) {
        await expectInvariants({ sql }, machineId, new Date())
        await expectConverged({ sql }, machineId)
      }
      await expectMachinesMatchDesired(sql)
      await expectOneRentalPerKey(sql, driver.records)
      await expectCommandsOnce(sql, driver.records)
      await expectConsistentEvents(sql)
      expect(await brokenLaws(sql)).toEqual([])
      expect(fleet.logLinesFrom(50)).toEqual([])
    })

    it('have as many connections to PostgreSQL as the page says', async () => {
      for (const url of fleet.urls()) expect((await fetch(`${url}/metrics`)).status).toBe(200)
      const rows = await sql(`SELECT application_name AS name, count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'berth%' GROUP BY 1`)
      const counts = Object.fromEntries(rows.map(({ name, count }) => [String(name), Number(count)]))
      expect(counts[sessionName]).toBeLessThanOrEqual(connections)
      expect(counts).toEqual({ [sessionName]: counts[sessionName], 'berth wake-ups': 2, 'berth metrics': 2 })
    })

    it('keep the time limits of statements, and wake each other', async () => {
      const [first, second] = fleet.urls() as [string, string]
      const [renter] = renters as [Renter]
      const { data } = await createClient(first, renter.apiKey).ask(
        'mutation { createApiKey(input: { fullAccess: true }) { ... on CreateApiKeySuccess { secret apiKey { id } } } }',
      )
      const { secret, apiKey } = data.createApiKey
      const other = createClient(second, secret)
      for (let asked = 0; asked < 20; asked += 1)
        expect(await other.codeOf('{ viewer { account { id } } }')).toBe(undefined)
      await createClient(first, renter.apiKey).ask(
        `mutation { deleteApiKey(input: { id: "${apiKey.id}" }) { __typename } }`,
      )
      expect(await other.codeOf('{ viewer { account { id } } }')).toBe('UNAUTHENTICATED')
      const opened = openDatabase({
        ...{ url: urlAs('app', pooler.url), directUrl: urlAs('app', database.url), poolSize: 2, onIdleError: () => {} },
      })
      await expect(opened.pool.query('SELECT pg_sleep(10)')).rejects.toThrow('statement timeout')
      expect((await opened.pool.query('SHOW jit')).rows).toEqual([{ jit: 'off' }])
      await opened.close()
    })

    it('have no fault that the doctor finds, unless the direct URL is missing', async () => {
      const examine = async (settings: Record<string, string>) => {
        const doctor = spawnProgram('src/cli.ts', ['doctor'], settings)
        await doctor.exit
        const checks = doctor.output().trim().split('\n')
        return checks.map(line => JSON.parse(line) as { name: string; state: string; advice: string | null })
      }
      const metrics = { DATABASE_METRICS_URL: urlAs('metrics', database.url), PORT: '0' }
      const { DATABASE_DIRECT_URL: _, ...others } = env()
      const found = await examine({ ...env(), ...metrics })
      expect(found.length).toBeGreaterThan(10)
      expect(found.filter(({ state }) => state === 'fail')).toEqual([])
      expect((await examine({ ...others, ...metrics })).filter(({ state }) => state === 'fail')).toMatchObject([
        { name: 'pooler', advice: expect.stringContaining('Set DATABASE_DIRECT_URL to PostgreSQL itself') },
      ])
    })

    it('do nothing more once the database is too new for them, also if they stood still meanwhile', async () => {
      const setOldest = (migration: string) => sql('UPDATE oldest_version SET migration = $1', [migration])
      const statusOf = async (url: string) => (await fetch(`${url}/ready`)).status
      const [renter] = renters as [Renter]
      await fleet.pause('all', () => setOldest('20990101000000_later'))
      for (const url of fleet.urls()) {
        expect(await createClient(url, renter.apiKey).codeOf('{ viewer { account { id } } }')).toBe('UNAVAILABLE')
        await expect.poll(() => statusOf(url), { timeout: 30_000 }).toBe(503)
      }
      await setOldest(newestMigration)
      for (const url of fleet.urls()) await expect.poll(() => statusOf(url), { timeout: 30_000 }).toBe(200)
    })

    it('let commands work, those that hold a lock as well', async () => {
      const { code, result } = await runBerth(env(), 'account', 'create', '--email', 'eve@example.com', '--credit', '1')
      expect([code, result.apiKey]).toEqual([0, expect.any(String)])
      expect(await runBerth(env(), 'market', 'generate', '--machines', '2')).toMatchObject({ code: 0, errors: '' })
    })
  })
})

describe.skipIf(!program)('behind a pooler that follows a fail-over', () => {
  let pair: ReplicationPair
  let switchable: FaultyProxy
  let pooler: Pgbouncer
  let gateways: [TestApp, TestApp]
  let key: string

  beforeAll(async () => {
    pair = await startReplicationPair()
    switchable = await startFaultyProxy(pair.primaryUrl)
    pooler = await startPgbouncer(program ?? [], switchable.url)
    const start = () =>
      startApp({
        databaseUrl: urlAs('app', pooler.url),
        directUrl: urlAs('app', switchable.url),
        ownerUrl: urlAs('owner', switchable.url),
        metricsUrl: urlAs('metrics', switchable.url),
      })
    gateways = [await start(), await start()]
    key = await gateways[0].newKey()
  })
  afterAll(async () => {
    for (const gateway of gateways ?? []) await gateway.close()
    await pooler?.stop()
    switchable?.close()
    await pair?.close()
  })

  const grant = (gateway: TestApp) =>
    gateway.operations.accounts.grantCredit('renter-1@example.com', { amountNanos: 1n })
  const codeAfter = async (gateway: TestApp, cursor: string) =>
    (await gateway.graphql(key, `{ events(first: 1, after: "${cursor}") { nodes { id } } }`)).errors?.[0]?.extensions[
      'code'
    ]
  const slowly = { timeout: 30_000, interval: 100 }

  it('gateways use no server that they have not checked, and expire the cursors of the lost one', async () => {
    const stream = await subscribeSse(gateways[1].fetch, key, 'subscription { events { cursor } }')
    await grant(gateways[0])
    let cursor: string = (await stream.next())?.data.events.cursor
    await pair.waitUntilCaughtUp()
    await pair.disconnectStandby()
    for (let n = 0; n < 20; n += 1) await grant(gateways[0])
    for (let n = 0; n < 20; n += 1) cursor = (await stream.next())?.data.events.cursor
    await pair.failOver()
    // The connections of the gateways to the pooler stay open.
    switchable.switchTo(pair.standbyUrl)
    let last = await stream.next()
    while (last?.data) last = await stream.next()
    expect(last?.errors?.[0]?.extensions['code']).toBe('CURSOR_EXPIRED')
    for (const gateway of gateways) await expect.poll(() => codeAfter(gateway, cursor), slowly).toBe('CURSOR_EXPIRED')
    const noted = await pair.runSql(pair.standbyUrl, 'SELECT witnessed FROM failovers')
    expect(noted).toEqual([{ witnessed: true }])
    await grant(gateways[0])
    const [ids] = await pair.runSql(pair.standbyUrl, 'SELECT last_value::int FROM instances_id_seq')
    expect(ids?.['last_value']).toBeGreaterThan(1_000_000)
  })

  it('gateways refuse transactions while the pooler leads to another server than the direct URL', async () => {
    const other = await createDatabase()
    const stray = await startPgbouncer(program ?? [], other.url)
    const database = openDatabase({
      ...{ url: urlAs('app', stray.url), directUrl: urlAs('app', pair.standbyUrl), poolSize: 2, onIdleError: () => {} },
    })
    await expect(database.pool.query('SELECT 1')).rejects.toMatchObject({ code: '08006' })
    await database.close()
    await stray.stop()
    await other.drop()
  })
})
