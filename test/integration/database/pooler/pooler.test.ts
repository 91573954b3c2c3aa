// What a database is to a gateway whose connections lead through a pooler of transactions. Here they lead to PostgreSQL itself;
// test/long/proxies has a real pooler.

import pg from 'pg'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../../../src/database/client.ts'
import { Prisma } from '../../../../src/database/generated/client.ts'
import { newestMigration } from '../../../../src/database/history/versions.ts'
import { isPooled } from '../../../../src/database/pooler/detect.ts'
import { createServerGuard } from '../../../../src/database/pooler/guard.ts'
import { int4, text } from '../../../../src/database/row-types.ts'
import { snapshot, transaction } from '../../../../src/database/transaction.ts'
import { monitorWrites } from '../../../../src/database/write-monitor.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { urlAs } from '../../../support/database/roles.ts'
import { withSession } from '../../../support/database/sessions.ts'

const { sql } = Prisma

let test: TestDatabase
let url: string
let database: Database

beforeAll(async () => {
  test = await createDatabase()
  url = urlAs('app', test.url)
  database = openDatabase({ url, directUrl: url, poolSize: 2, onIdleError: () => {} })
})
afterAll(async () => {
  await database?.close()
  await test?.drop()
})

const settingSql = (name: string) => sql`SELECT current_setting(${name}) AS setting`
const settings = { statement_timeout: '5s', lock_timeout: '2s', idle_in_transaction_session_timeout: '10s', jit: 'off' }
const countNames = sql`SELECT count(*)::int AS count FROM pg_prepared_statements`

describe('a database behind a pooler', () => {
  it.each(Object.entries(settings))('gets %s in each transaction', async (name, setting) => {
    const expected = [{ setting }]
    const statement = settingSql(name)
    expect(await database.query(statement, { setting: text })).toEqual(expected)
    expect(await transaction(database, tx => tx.query(statement, { setting: text }))).toEqual(expected)
    expect(await snapshot(database, tx => tx.query(statement, { setting: text }))).toEqual(expected)
    expect(await database.prisma.$queryRaw(statement)).toEqual(expected)
    expect(await transaction(database, tx => tx.prisma(prisma => prisma.$queryRaw(statement)))).toEqual(expected)
  })

  it('keeps the time for a lock that a transaction asks for', async () => {
    const read = transaction(database, tx => tx.query(settingSql('lock_timeout'), { setting: text }), {
      lockTimeoutMs: 50,
    })
    expect(await read).toEqual([{ setting: '50ms' }])
  })

  it('prepares no statement that outlives its transaction', async () => {
    for (let n = 0; n < 40; n += 1) {
      await database.query(countNames, { count: int4 })
      await database.prisma.account.findMany({ select: { id: true } })
    }
    expect(await database.query(countNames, { count: int4 })).toEqual([{ count: 0 }])
  })

  it('commits what succeeds alone, and nothing of what fails', async () => {
    const insert = (name: string) => database.execute(sql`INSERT INTO gpu_models (name) VALUES (${name})`)
    await expect(insert('incomplete')).rejects.toMatchObject({ code: '23502' })
    expect(await database.execute(sql`UPDATE outbox SET epoch = epoch`)).toBe(1)
    const [first] = await database.query(sql`SELECT pg_backend_pid() AS pid`, { pid: int4 })
    expect(first?.pid).toEqual(expect.any(Number))
  })

  it('is refused once it is too new for this version, on connections that are open, too', async () => {
    const setOldest = (migration: string) =>
      withSession(test.url, session => session.query('UPDATE oldest_version SET migration = $1', [migration]))
    const ask = () => database.query(sql`SELECT 1 AS one`, { one: int4 })
    const later = '20990101000000_later'
    await setOldest(later)
    const refused = { code: '25006', message: expect.stringContaining(`it does not know the migration ${later}.`) }
    await expect(ask()).rejects.toMatchObject(refused)
    await expect(transaction(database, tx => tx.query(sql`SELECT 1 AS one`, { one: int4 }))).rejects.toMatchObject(
      refused,
    )
    await expect(database.prisma.account.count()).rejects.toThrow()
    const monitor = monitorWrites({ pool: database.pool, log: pino({ enabled: false }), onChange: () => {} })
    monitor.check(new Error('refused'))
    expect(await monitor.isFailing()).toBe(true)
    monitor.stop()
    await setOldest(newestMigration)
    expect(await ask()).toEqual([{ one: 1 }])
  })

  it('retries a transaction that meets a conflict, as ever', async () => {
    let attempts = 0
    const work = transaction(database, async tx => {
      attempts += 1
      if (attempts === 1) await tx.execute(sql`DO $$ BEGIN RAISE SQLSTATE '40001'; END $$`)
      return attempts
    })
    expect(await work).toBe(2)
  })
})

describe('the guard', () => {
  /** A connection that a pooler leads to these servers in turn. */
  function connectionTo(servers: string[]) {
    const sent: string[] = []
    const query = async (text: string) => {
      sent.push(text)
      if (text === 'ROLLBACK') return {}
      return [{ command: 'BEGIN' }, { rows: [{ server: servers.shift() }] }]
    }
    return { sent, client: { query } as unknown as pg.ClientBase }
  }
  const own = async () =>
    await withSession(url, async session => {
      const { rows } = await session.query(
        "SELECT concat_ws('/', pg_postmaster_start_time(), 'public.outbox'::regclass::oid, (SELECT migration FROM oldest_version)) AS server",
      )
      return String(rows[0].server)
    })
  const createGuard = () => {
    let checks = 0
    const check = async () => {
      checks += 1
    }
    return { guard: createServerGuard({ directUrl: url, settings: {}, check }), checks: () => checks }
  }

  it('checks a server once, and again when the pooler leads to another one', async () => {
    const { guard, checks } = createGuard()
    const server = await own()
    const { client, sent } = connectionTo([server, server, server, 'another', server])
    for (let n = 0; n < 3; n += 1) expect(await guard.begin(client, 'BEGIN')).toEqual({ command: 'BEGIN' })
    expect(checks()).toBe(2)
    expect(sent.filter(text => text === 'ROLLBACK')).toHaveLength(2)
  })

  it('shares one check among transactions that begin at once', async () => {
    const { guard, checks } = createGuard()
    const server = await own()
    const begin = () => guard.begin(connectionTo(['another', server]).client, 'BEGIN')
    await Promise.all(Array.from({ length: 10 }, begin))
    expect(checks()).toBe(1)
  })

  it('refuses a server that is not that of the direct URL, as a failed connection', async () => {
    const { guard } = createGuard()
    const { client, sent } = connectionTo(['another', 'another'])
    await expect(guard.begin(client, 'BEGIN')).rejects.toMatchObject({
      code: '08006',
      message: 'The pooler leads to another server than DATABASE_DIRECT_URL.',
    })
    expect(sent.at(-1)).toBe('ROLLBACK')
  })

  it('uses no server that the check refuses', async () => {
    const guard = createServerGuard({
      directUrl: url,
      settings: {},
      check: () => Promise.reject(new Error('a standby')),
    })
    await expect(guard.begin(connectionTo([await own()]).client, 'BEGIN')).rejects.toThrow('a standby')
  })
})

describe('a connection', () => {
  /** A client that these processes serve, one statement after another, and then the last of them. */
  function clientOf(...processes: number[]) {
    const next = () => (processes.length > 1 ? processes.shift() : processes[0])
    const fake = { processID: 4_711, query: async () => ({ rows: [{ pid: next() }] }), end: async () => {} }
    return fake as unknown as pg.Client
  }

  it.each([
    ['the two share a process', clientOf(1), clientOf(1), true],
    ['it changes its process', clientOf(1, 1, 1, 2), clientOf(3), true],
    ['the other one gets its process later', clientOf(1), clientOf(2, 2, 1), true],
    ['each keeps a process of its own, as behind a pooler of sessions', clientOf(1), clientOf(2), false],
  ])('leads through a pooler of transactions or not: %s', async (_when, one, other, pooled) => {
    expect(await isPooled(one, async () => other)).toBe(pooled)
  })

  it('to PostgreSQL is taken for what it is, without another one', async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    expect(await isPooled(client, () => Promise.reject(new Error('Not needed.')))).toBe(false)
    await client.end()
  })
})
