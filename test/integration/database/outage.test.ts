import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/database/client.ts'
import { Prisma } from '../../../src/database/generated/client.ts'
import { int4 } from '../../../src/database/row-types.ts'
import { transaction } from '../../../src/database/transaction.ts'
import { accountServices } from '../../../src/services/accounts/accounts.ts'
import { translateDatabaseError } from '../../../src/services/database-errors.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type FaultyProxy, startFaultyProxy } from '../../support/database/faulty-proxy.ts'
import { urlAs } from '../../support/database/roles.ts'

let database: TestDatabase
let proxy: FaultyProxy
let app: TestApp
let key: string

beforeAll(async () => {
  database = await createDatabase()
  proxy = await startFaultyProxy(database.url)
  app = await startApp({ databaseUrl: proxy.url })
  key = await app.newKey()
})

afterAll(async () => {
  proxy.heal()
  await app.close()
  proxy.close()
  await database.drop()
})

async function timed<T>(ask: () => Promise<T>): Promise<{ answer: T; ms: number }> {
  const start = performance.now()
  return { answer: await ask(), ms: performance.now() - start }
}

describe.each(['cut', 'freeze'] as const)('when the connection to the database fails (%s), a gateway', failure => {
  it('answers on both faces in bounded time, and recovers without help', async () => {
    expect((await app.rest(key, 'GET', '/users/current/')).status).toBe(200)
    proxy[failure]()
    const message = 'The database did not answer in time. Try again in a moment.'
    const [rest, graphql, ready, health] = await Promise.all([
      timed(() => app.rest(key, 'GET', '/users/current/')),
      timed(() => app.graphql(key, '{ viewer { account { id } } }')),
      timed(() => app.fetch(new Request('http://berth.test/ready'))),
      timed(() => app.fetch(new Request('http://berth.test/health'))),
    ])
    expect(rest.answer).toMatchObject({ status: 503, body: { success: false, error: 'unavailable', msg: message } })
    expect(rest.answer.headers.get('retry-after')).toBe('1')
    expect(graphql.answer).toMatchObject({ status: 503, errors: [{ message, extensions: { code: 'UNAVAILABLE' } }] })
    expect([ready.answer.status, health.answer.status]).toEqual([503, 200])
    expect(Math.max(rest.ms, graphql.ms, ready.ms)).toBeLessThan(10_000)

    const opened = openDatabase({ url: urlAs('app', proxy.url), poolSize: 2, onIdleError: () => {} })
    const accounts = accountServices({ database: opened })
    const viaPrisma = accounts
      .viewer({ accountId: 1, apiKeyId: 1, publicId: '', permissions: null }, { id: true })
      .catch(translateDatabaseError)
    expect(await viaPrisma).toMatchObject({ code: 'UNAVAILABLE' })

    proxy.heal()
    await opened.close()
    await expect.poll(async () => (await app.rest(key, 'GET', '/users/current/')).status, { timeout: 5_000 }).toBe(200)
    expect((await app.fetch(new Request('http://berth.test/ready'))).status).toBe(200)
  })
})

describe('a connection', () => {
  it('has timeouts for statements, locks and idle transactions', async () => {
    const opened = openDatabase({ url: urlAs('app', database.url), poolSize: 2, onIdleError: () => {} })
    const { rows } = await opened.pool.query(`
      SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
        current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('jit') AS jit`)
    expect(rows).toEqual([{ statement: '5s', lock: '2s', idle: '10s', jit: 'off' }])
    await opened.close()
  })

  it('that is lost between two statements of a transaction fails only that transaction', async () => {
    const opened = openDatabase({ url: urlAs('app', database.url), poolSize: 2, onIdleError: () => {} })
    const { pool, close } = opened
    const isConnected = async (pid: unknown) =>
      (await pool.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).rows.length > 0
    const lost = transaction(opened, async tx => {
      const [connection] = await tx.query(Prisma.sql`SELECT pg_backend_pid() AS pid`, { pid: int4 })
      await pool.query('SELECT pg_terminate_backend($1)', [connection?.pid])
      await expect.poll(() => isConnected(connection?.pid), { timeout: 5_000 }).toBe(false)
      return await tx.execute(Prisma.sql`SELECT 1`)
    })
    expect(translateDatabaseError(await lost.catch((error: unknown) => error))).toMatchObject({ code: 'UNAVAILABLE' })
    expect(await transaction(opened, tx => tx.execute(Prisma.sql`SELECT 1`))).toBe(1)
    await close()
  })

  it('is awaited only for a limited time while all connections are busy', async () => {
    const waiting = { poolSize: 2, connectionTimeoutMs: 500 }
    const opened = openDatabase({ url: urlAs('app', database.url), ...waiting, onIdleError: () => {} })
    const busy = [opened.pool.query('SELECT pg_sleep(3)'), opened.pool.query('SELECT pg_sleep(3)')]
    const { answer, ms } = await timed(() => opened.execute(Prisma.sql`SELECT 1`).catch(translateDatabaseError))
    expect(answer).toMatchObject({ code: 'UNAVAILABLE' })
    expect(ms).toBeLessThan(2_500)
    await Promise.all(busy)
    expect(await opened.execute(Prisma.sql`SELECT 1`)).toBe(1)
    await opened.close()
  })
})
