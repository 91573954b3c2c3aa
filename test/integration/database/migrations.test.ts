import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { findSchemaDrift } from '../../../prisma/drift.ts'
import { readMigrationList, withSchemaEngine } from '../../../prisma/schema-engine.ts'
import { createApp } from '../../../src/app.ts'
import { type Database, openDatabase } from '../../../src/database/client.ts'
import { openServer, withDatabase } from '../../../src/database/embedded/server.ts'
import { Prisma } from '../../../src/database/generated/client.ts'
import { createEpochCheck } from '../../../src/database/history/epoch.ts'
import { locks, withLock } from '../../../src/database/locks.ts'
import { applyMigrations, migrate, pendingMigrations, readMigrations } from '../../../src/database/migrations.ts'
import { transaction } from '../../../src/database/transaction.ts'
import { createLog } from '../../../src/http/log.ts'
import { startApp } from '../../support/app.ts'
import { defaultAdmission } from '../../support/billing/admission.ts'
import { createDatabase, serverUrl, type TestDatabase } from '../../support/database/database.ts'
import { outsideTransaction } from '../../support/database/migrations.ts'
import { listMachines } from '../../support/factories.ts'

describe('the migrations', () => {
  it('produce the Prisma schema', async () => {
    const database = await createDatabase({ empty: true })
    expect(await findSchemaDrift(database.url)).toBeUndefined()
    await database.drop()
  })

  it('are applied once', async () => {
    const database = await createDatabase({ empty: true })
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const pending = await pendingMigrations(client)
    expect(pending.length).toBeGreaterThan(0)
    expect(await migrate(database.url)).toEqual(pending)
    expect(await migrate(database.url)).toEqual([])
    expect(await pendingMigrations(client)).toEqual([])
    await client.end()
    await database.drop()
  })

  it('are what Prisma would have applied and recorded', async () => {
    const database = await createDatabase({ empty: true })
    await migrate(database.url)
    const filters = { externalTables: [], externalEnums: [] }
    const migrationsList = await readMigrationList()
    await withSchemaEngine(database.url, async engine => {
      const history = { migrationsList, optInToShadowDatabase: false, filters }
      expect(await engine.diagnoseMigrationHistory(history)).toMatchObject({
        ...{ history: null, editedMigrationNames: [], failedMigrationNames: [], hasMigrationsTable: true },
      })
      expect(await engine.applyMigrations({ migrationsList, filters })).toEqual({ appliedMigrationNames: [] })
    })
    await database.drop()
  })

  it('go on where Prisma stopped', async () => {
    const database = await createDatabase({ empty: true })
    const all = await readMigrationList()
    const migrationsList = { ...all, migrationDirectories: all.migrationDirectories.slice(0, 3) }
    await withSchemaEngine(database.url, engine =>
      engine.applyMigrations({ migrationsList, filters: { externalTables: [], externalEnums: [] } }),
    )
    expect(await migrate(database.url)).toEqual(all.migrationDirectories.slice(3).map(({ path }) => path))
    await database.drop()
  })

  it('that fail leave nothing behind, and name themselves', async () => {
    const database = await createDatabase({ empty: true })
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const script = 'CREATE TABLE half (id int); SELECT 1 / 0;'
    const failing = applyMigrations(client, [{ name: '20990101000000_broken', script }])
    await expect(failing).rejects.toThrow('The migration 20990101000000_broken failed: division by zero')
    expect((await client.query("SELECT to_regclass('half') AS half")).rows).toEqual([{ half: null }])
    expect((await client.query('SELECT * FROM _prisma_migrations')).rows).toEqual([])
    await client.end()
    await database.drop()
  })

  it('are not applied after one that another tool has not finished', async () => {
    const database = await createDatabase({ empty: true })
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await applyMigrations(client, [{ name: '20000101000000_first', script: 'SELECT 1' }])
    await client.query('UPDATE _prisma_migrations SET finished_at = NULL')
    const later = applyMigrations(client, [{ name: '20000102000000_second', script: 'SELECT 1' }])
    await expect(later).rejects.toThrow('The migration 20000101000000_first was begun and not finished.')
    await client.end()
    await database.drop()
  })

  it('are not applied after a newer one that has not finished, even if none is missing', async () => {
    const database = await createDatabase()
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(
      "INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('x', '', '20990101000000_x')",
    )
    const message = 'The migration 20990101000000_x was begun and not finished.'
    await expect(pendingMigrations(client)).rejects.toThrow(message)
    await expect(migrate(database.url)).rejects.toThrow(message)
    await client.end()
    await database.drop()
  })

  it('are applied once by six gateways that all believe to hold the lock', async () => {
    const database = await createDatabase({ empty: true })
    const clients = Array.from({ length: 6 }).map(() => new pg.Client({ connectionString: database.url }))
    for (const client of clients) await client.connect()
    const migrations = [
      { name: '20990101000000_a', script: 'SELECT pg_sleep(0.1); CREATE TABLE counter AS SELECT 0 AS n' },
      { name: '20990102000000_b', script: 'SELECT pg_sleep(0.1); UPDATE counter SET n = n + 1' },
    ]
    const applied = await Promise.all(clients.map(client => applyMigrations(client, migrations)))
    expect(applied.flat().toSorted()).toEqual(migrations.map(({ name }) => name))
    const [first] = clients as [pg.Client]
    expect((await first.query('SELECT n FROM counter')).rows).toEqual([{ n: 1 }])
    expect((await first.query('SELECT FROM _prisma_migrations')).rowCount).toBe(2)
    for (const client of clients) await client.end()
    await database.drop()
  })

  it('wait for a `prisma migrate deploy` that runs', async () => {
    const database = await createDatabase({ empty: true })
    const [deploy, client] = [1, 2].map(() => new pg.Client({ connectionString: database.url })) as [
      pg.Client,
      pg.Client,
    ]
    for (const each of [deploy, client]) await each.connect()
    // Prisma's engine holds this lock while it applies migrations.
    await deploy.query('SELECT pg_advisory_lock(72707369)')
    let isDone = false
    const applying = applyMigrations(client, [{ name: '20990101000000_a', script: 'SELECT 1' }]).then(() => {
      isDone = true
    })
    const waiting = `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
      WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()`
    await expect.poll(async () => (await deploy.query(waiting)).rowCount).toBe(1)
    expect(isDone).toBe(false)
    await deploy.query('SELECT pg_advisory_unlock(72707369)')
    await applying
    for (const each of [deploy, client]) await each.end()
    await database.drop()
  })

  it('are named in the log of a gateway that starts if they were edited since', async () => {
    const app = await startApp()
    const edited = (lines: Record<string, unknown>[]) => lines.filter(line => 'edited' in line)
    expect(edited(app.logLines)).toEqual([])
    const [last] = (await readMigrations()).slice(-1)
    await app.sql("UPDATE _prisma_migrations SET checksum = 'other' WHERE migration_name = $1", [last?.name])
    const other = await startApp({ sharedApp: app })
    expect(edited(other.logLines)).toMatchObject([{ level: 40, edited: [last?.name] }])
    await other.close()
    await app.close()
  })

  it('leave transactions to the gateway, and can run in one', async () => {
    for (const { name, script } of await readMigrations())
      expect([name, outsideTransaction(script)]).toEqual([name, []])
  })

  it.each([
    ['COMMIT', ['COMMIT']],
    ['CREATE TABLE a (b int);\nbegin;', ['begin']],
    ['-- so far; \nROLLBACK TO SAVEPOINT a;', ['ROLLBACK']],
    ['/* more */ start transaction; END', ['start transaction', 'END']],
    ['CREATE UNIQUE INDEX CONCURRENTLY a ON b (c)', ['CONCURRENTLY']],
    ['VACUUM a', ['VACUUM']],
    [`CREATE FUNCTION a() RETURNS trigger AS $x$ BEGIN; COMMIT; END $x$; SELECT '; COMMIT', ';';`, []],
    ['SELECT 1; -- COMMIT;', []],
  ])('cannot have other statements: %j', (script, found) => {
    expect(outsideTransaction(script)).toEqual(found)
  })

  it('run in only one gateway when several gateways start at once', async () => {
    const database = await createDatabase({ empty: true })
    const applied = await Promise.all([1, 2, 3, 4].map(() => withLock(database.url, 1, () => migrate(database.url))))
    expect(applied.filter(names => names.length > 0)).toHaveLength(1)
    await database.drop()
  })
})

describe('the database of DATABASE_URL', () => {
  const openMessage = (url: string) =>
    openServer(
      { databaseUrl: url, ownerUrl: undefined, metricsUrl: undefined },
      { dataDir: '/dev/null', role: 'gateway', onLost: () => {} },
    ).then(
      () => undefined,
      ({ message }: Error) => message,
    )
  const expectedRefusal = (why: string) =>
    `The database that DATABASE_URL names cannot be used: ${why}. Check that the database runs and that the URL is right.`

  it('is checked at the start', async () => {
    expect(await openMessage(serverUrl())).toBeUndefined()
  })

  it.each([
    ['does not run', 'postgresql://u:secret@127.0.0.1:1/x', /connect ECONNREFUSED 127\.0\.0\.1:1/],
    ['does not run under any address of its host', 'postgresql://u:secret@localhost:1/x', /.*ECONNREFUSED.*/],
    ['has an unknown host', 'postgresql://u:secret@nowhere.invalid/x', /getaddrinfo \w+ nowhere\.invalid/],
    ['has an invalid URL', 'postgresql://u:secret@:x:/', /Invalid URL/],
  ])('is reported without its password when it %s', async (_what, url, why) => {
    const message = await openMessage(url)
    expect(message).toMatch(new RegExp(`^${expectedRefusal(why.source).replaceAll('. ', '\\. ')}$`))
    expect(message).not.toContain('secret')
  })

  it('is reported when it does not exist on the server', async () => {
    const message = await openMessage(withDatabase(serverUrl(), 'nothing'))
    expect(message).toBe(expectedRefusal('database "nothing" does not exist'))
  })
})

describe('a gateway that starts', () => {
  it('connects to a database of an older version that moved to another server', async () => {
    const older = await createDatabase()
    const client = new pg.Client({ connectionString: older.url })
    await client.connect()
    await client.query("DROP FUNCTION move_foreign_events; DROP TABLE failovers; UPDATE outbox SET cluster = '1/1/1'")
    await expect(createEpochCheck().check(client)).resolves.toBeUndefined()
    await client.end()
    await older.drop()
  })

  it('becomes ready only after another gateway has migrated the database', async () => {
    const { url, drop } = await createDatabase()
    const log = createLog('silent', process.stderr)
    const limits = {
      sshProxy: null,
      simulatedDelay: 0,
      eventRetentionDays: 90,
      startTimeoutMs: 60_000,
      offlineGraceMs: 60_000,
      ...defaultAdmission,
    }
    const options = {
      graphiql: false,
      metrics: false,
      host: '127.0.0.1',
      demoKeyFile: undefined,
      secret: '',
      build: { version: '0.0.0', migration: '20260101000000_first', node: '24.0.0' },
      toolboxFile: 'toolbox.tar',
      ...limits,
    }
    const app = createApp({ ...options, databaseUrl: url, poolSize: 2, log, now: () => new Date() })
    const ready = async () => (await app.fetch(new Request('http://berth.test/ready'))).status
    const [taken, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const other = withLock(url, locks.migration, async () => {
      taken.resolve()
      await done.promise
    })
    await taken.promise
    const started = app.start()
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const waiting = async () => {
      const { rowCount } = await client.query(`
        SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND objid = ${locks.migration} AND NOT granted AND datname = current_database()`)
      return rowCount
    }
    await expect.poll(waiting, { interval: 20, timeout: 3_000 }).toBe(1)
    expect(await ready()).toBe(503)
    done.resolve()
    await Promise.all([other, started])
    expect(await ready()).toBe(200)
    await client.end()
    await app.stop()
    await drop()
  })
})

describe('work under a lock', () => {
  it('fails when the connection that holds its lock is lost', async () => {
    const { url, drop } = await createDatabase({ empty: true })
    const work = Promise.withResolvers<void>()
    const outcome = withLock(url, 2, async () => {
      const admin = new pg.Client({ connectionString: url })
      await admin.connect()
      await admin.query(`
        SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND objid = 2 AND granted AND datname = current_database()`)
      await admin.end()
      await work.promise
      throw new Error('The work continued without the lock, and failed.')
    }).catch((error: unknown) => error)
    expect(await outcome).toMatchObject({ code: '57P01' })
    work.resolve()
    await drop()
  })
})

describe('the database', () => {
  let test: TestDatabase
  let database: Database

  beforeAll(async () => {
    const app = await startApp()
    await listMachines(app.operations, [{ machine: { numGpus: 2 } }])
    await app.stop()
    test = app.database
    database = openDatabase({ url: test.url, poolSize: 4, onIdleError: () => {} })
  })

  afterAll(async () => {
    await database.close()
    await test.drop()
  })

  const otherModel = `INSERT INTO gpu_models SELECT (json_populate_record(g, '{"id": 99, "name": "other"}')).*
    FROM gpu_models g ON CONFLICT DO NOTHING;`
  const otherKind = `${otherModel} INSERT INTO offer_kinds VALUES (99, 1), (99, 2) ON CONFLICT DO NOTHING;`
  const nonFiniteNumbers = ['NaN', 'Infinity', '-Infinity']

  it.each([
    ['a GPU twice', 'INSERT INTO gpus (machine_id, index) VALUES (1, 0)', '23505'],
    ['a GPU of no machine', 'INSERT INTO gpus (machine_id, index) VALUES (99, 0)', '23503'],
    ['a GPU index above 15', 'INSERT INTO gpus (machine_id, index) VALUES (1, 16)', '23514'],
    [
      'a block twice',
      'INSERT INTO offers SELECT (json_populate_record(o, \'{"id": 99}\')).* FROM offers o WHERE id = 1',
      '23505',
    ],
    ['a negative free disk', 'UPDATE machines SET free_disk_mb = -1', '23514'],
    ['more free disk than the machine has', 'UPDATE machines SET free_disk_mb = disk_mb + 1', '23514'],
    ['a negative number of free ports', 'UPDATE machines SET free_ports = -1', '23514'],
    ['a price that is not the sum of its parts', 'UPDATE offers SET price_nanos = price_nanos + 1', '23514'],
    [
      'a bid price that is not the sum of its parts',
      'UPDATE offers SET bid_price_nanos = bid_price_nanos + 1',
      '23514',
    ],
    ['an offer with another GPU model than its machine', `${otherKind} UPDATE offers SET gpu_model_id = 99`, '23503'],
    [
      'a machine with another GPU model than its offers',
      `${otherModel} UPDATE machines SET gpu_model_id = 99`,
      '23503',
    ],
    ...nonFiniteNumbers.flatMap(value => [
      [`a score of ${value}`, `UPDATE offers SET score = '${value}'`, '23514'],
      [`performance of ${value}`, `UPDATE offers SET dlperf = '${value}'`, '23514'],
      [`GPUs of ${value} TFLOPS`, `UPDATE gpu_models SET tflops = '${value}'`, '23514'],
      [`bandwidth of ${value}`, `UPDATE gpu_models SET memory_bandwidth_gigabytes_per_second = '${value}'`, '23514'],
      [`GPUs of performance ${value}`, `UPDATE machines SET dlperf_per_gpu = '${value}'`, '23514'],
      [`a temperature of ${value}`, `UPDATE machines SET gpu_max_temp_celsius = '${value}'`, '23514'],
      [`a download speed of ${value}`, `UPDATE machines SET download_mbps = '${value}'`, '23514'],
      [`a CPU of ${value} GHz`, `UPDATE machines SET cpu_ghz = '${value}'`, '23514'],
    ]),
    ['a negative disk speed', 'UPDATE machines SET disk_read_megabytes_per_second = -1', '23514'],
    ['an offer without performance', 'UPDATE offers SET dlperf = 0', '23514'],
    ['traffic at the largest integer', 'UPDATE machines SET upload_price_per_gb_nanos = 9223372036854775807', '23514'],
    ['traffic at more than $10 per GB', 'UPDATE machines SET download_price_per_gb_nanos = 10000000001', '23514'],
    [
      'GPUs above the maximum price',
      'UPDATE offers SET gpu_price_nanos = 16000000000001, price_nanos = price_nanos - gpu_price_nanos + 16000000000001',
      '23514',
    ],
    [
      'a minimum bid above the maximum',
      'UPDATE offers SET min_bid_nanos = 1000000000000001, bid_price_nanos = bid_price_nanos - min_bid_nanos + 1000000000000001',
      '23514',
    ],
    ['a GPU without a price', 'UPDATE machines SET gpu_nanos = 0', '23514'],
    ['a minimum bid above the price', 'UPDATE machines SET min_bid_gpu_nanos = gpu_nanos + 1', '23514'],
    ['a reliability above 1', 'UPDATE machines SET reliability = 2', '23514'],
    ['the name of a country instead of its code', "UPDATE machines SET country = 'Sweden'", '23514'],
    ['a withdrawn offer that can be rented', 'UPDATE offers SET withdrawn_at = now()', '23514'],
    ['an email address in upper case', "INSERT INTO accounts (email) VALUES ('A@b.c')", '23514'],
    ['an email address twice', "INSERT INTO accounts (email) VALUES ('host@example.com')", '23505'],
    ['a key without a hash', "INSERT INTO api_keys (account_id, public_id, secret_hash) VALUES (1, 'x', '')", '23514'],
    [
      'a key without an account',
      "INSERT INTO api_keys (account_id, public_id, secret_hash) VALUES (99, 'x', sha256('x'))",
      '23503',
    ],
  ])('refuses %s', async (_what, sql, code) => {
    await expect(database.pool.query(sql)).rejects.toMatchObject({ code })
  })

  it("copies a machine's values to its offers", async () => {
    const { rows } = await database.pool.query(`
      SELECT count(*)::int AS wrong FROM offers o JOIN machines m ON m.id = o.machine_id
      WHERE (o.gpu_model_id, o.country, o.verified, o.reliability, o.listed_until, o.disk_price_per_gb_month_nanos)
        IS DISTINCT FROM (m.gpu_model_id, m.country, m.verification = 'verified', m.reliability, m.listed_until, m.disk_price_per_gb_month_nanos)`)
    expect(rows).toEqual([{ wrong: 0 }])
  })

  it('retries a transaction that conflicts, and rolls back one that fails', async () => {
    let attempts = 0
    const conflict = Object.assign(new Error('conflict'), { code: '40001' })
    const email = (name: string) => Prisma.sql`INSERT INTO accounts (email) VALUES (${name})`
    await transaction(database, async tx => {
      attempts += 1
      await tx.execute(email('again@example.com'))
      if (attempts < 3) throw conflict
    })
    expect(attempts).toBe(3)

    const failed = transaction(database, async tx => {
      await tx.execute(email('never@example.com'))
      throw new Error('no')
    })
    await expect(failed).rejects.toThrow('no')
    await expect(transaction(database, () => Promise.reject(conflict))).rejects.toThrow('conflict')
    const { rows } = await database.pool.query("SELECT email FROM accounts WHERE email ~ '^(again|never)'")
    expect(rows).toEqual([{ email: 'again@example.com' }])
  })

  it('notifies once, after the commit', async () => {
    const written: Promise<unknown>[] = []
    const read = "SELECT count(*)::int AS count FROM accounts WHERE email = 'notified@example.com'"
    const notify = () => void written.push(database.pool.query(read).then(({ rows }) => rows))
    let attempts = 0
    await transaction({ ...database, notify }, async tx => {
      attempts += 1
      tx.notifyAfterCommit('events')
      await tx.execute(Prisma.sql`INSERT INTO accounts (email) VALUES ('notified@example.com')`)
      tx.notifyAfterCommit('events')
      if (attempts < 3) throw Object.assign(new Error('conflict'), { code: '40001' })
    })
    expect([attempts, await Promise.all(written)]).toEqual([3, [[{ count: 1 }]]])
  })

  it('does not notify after a rollback, or without a request to notify', async () => {
    const notify = vi.fn()
    const failed = transaction({ ...database, notify }, async tx => {
      tx.notifyAfterCommit('events')
      throw new Error('no')
    })
    await expect(failed).rejects.toThrow('no')
    const refused = transaction({ ...database, notify }, async tx => {
      await tx.execute(Prisma.sql`CREATE TABLE twice (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)`)
      await tx.execute(Prisma.sql`INSERT INTO twice VALUES (1), (1)`)
      tx.notifyAfterCommit('events')
    })
    await expect(refused).rejects.toMatchObject({ code: '23505' })
    await transaction({ ...database, notify }, tx => tx.execute(Prisma.sql`SELECT 1`))
    expect(notify).not.toHaveBeenCalled()
  })

  it('fails a transaction that goes on after a statement failed, and does not notify', async () => {
    const notify = vi.fn()
    const work = transaction({ ...database, notify }, async tx => {
      await tx.execute(Prisma.sql`INSERT INTO accounts (email) VALUES ('swallowed@example.com')`)
      await tx.execute(Prisma.sql`SELECT 1 / 0`).catch(() => {})
      tx.notifyAfterCommit('events')
      return 'done'
    })
    await expect(work).rejects.toThrow('PostgreSQL rolled the transaction back instead of committing it')
    expect((await database.pool.query("SELECT FROM accounts WHERE email ~ '^swallowed'")).rowCount).toBe(0)
    expect(notify).not.toHaveBeenCalled()
  })

  it('commits a transaction even if notifying fails', async () => {
    const failure = new Error('A listener failed.')
    const failed = Promise.withResolvers<unknown>()
    // Otherwise the test runner would report the exception as a failure of this test.
    const others = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException').once('uncaughtException', failed.resolve)
    const notify = () => {
      throw failure
    }
    let attempts = 0
    const work = transaction({ ...database, notify }, async tx => {
      attempts += 1
      await tx.execute(Prisma.sql`INSERT INTO accounts (email) VALUES ('told@example.com')`)
      tx.notifyAfterCommit('events')
      return 'done'
    })
    expect([await work, await failed.promise, attempts]).toEqual(['done', failure, 1])
    for (const other of others) process.on('uncaughtException', other)
    expect(database.pool.totalCount - database.pool.idleCount).toBe(0)
  })

  it('waits a random time before it retries a transaction, without holding a connection', async () => {
    const held: number[] = []
    const random = vi.spyOn(Math, 'random').mockImplementation(() => {
      held.push(database.pool.totalCount - database.pool.idleCount)
      return 0.5
    })
    const begun: number[] = []
    const failed = transaction(database, async () => {
      begun.push(performance.now())
      throw Object.assign(new Error('conflict'), { code: '40P01' })
    })
    await expect(failed).rejects.toThrow('conflict')
    const waits = begun.slice(1).map((at, index) => at - (begun[index] as number))
    expect(waits).toHaveLength(4)
    for (const [index, wait] of waits.entries()) expect(wait).toBeGreaterThan(9 * 2 ** index)
    expect(held).toEqual([0, 0, 0, 0])
    random.mockRestore()
  })
})
