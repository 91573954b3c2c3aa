import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../../../src/database/client.ts'
import { Prisma, type PrismaClient } from '../../../../src/database/generated/client.ts'
import { inTransactionOf } from '../../../../src/database/pool.ts'
import { int4, text } from '../../../../src/database/row-types.ts'
import { snapshot, transaction } from '../../../../src/database/transaction.ts'
import { captureQueries } from '../../../support/database/captured-statements.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'

const { sql } = Prisma
let testDatabase: TestDatabase
let database: Database
beforeAll(async () => {
  testDatabase = await createDatabase()
  database = openDatabase({ url: testDatabase.url, poolSize: 3, onIdleError: () => {} })
})
afterAll(async () => {
  await database.close()
  await testDatabase.drop()
})

const rename = (name: string) => (prisma: Prisma.TransactionClient) =>
  prisma.account.update({ where: { id: 1 }, data: { name }, select: { name: true } })
const nameOfAccount = () => database.query(sql`SELECT name FROM accounts WHERE id = 1`, { name: text })

describe('Prisma Client in a transaction', () => {
  beforeAll(() => database.execute(sql`INSERT INTO accounts (id, email, name) VALUES (1, 'a@example.com', 'first')`))

  it('writes on the connection of the transaction, so that later statements see it and a rollback takes it back', async () => {
    const refusal = new Error('roll back')
    const work = transaction(database, async tx => {
      const { name } = await tx.prisma(rename('second'))
      expect(name).toBe('second')
      expect(await tx.query(sql`SELECT name FROM accounts WHERE id = 1`, { name: text })).toEqual([{ name }])
      expect(await nameOfAccount()).toEqual([{ name: 'first' }])
      throw refusal
    })
    await expect(work).rejects.toBe(refusal)
    expect(await nameOfAccount()).toEqual([{ name: 'first' }])
  })

  it('neither begins nor ends a transaction of its own', async () => {
    const queries = await captureQueries(() =>
      transaction(database, async tx => {
        await tx.prisma(rename('third'))
        await tx.prisma(rename('fourth'))
      }),
    )
    expect(queries.map(query => query.split(' ')[0])).toEqual(['BEGIN;', 'UPDATE', 'UPDATE', 'COMMIT'])
    expect(await nameOfAccount()).toEqual([{ name: 'fourth' }])
  })

  it('keeps concurrent transactions apart, also for reads that Prisma batches', async () => {
    const insertAndRead = (id: number, [bothInserted, bothRead]: Meeting[]) =>
      transaction(database, async tx => {
        await tx.execute(sql`INSERT INTO accounts (id, email) VALUES (${id}, ${`${id}@example.com`})`)
        await bothInserted?.arrive()
        const read = await tx.prisma(prisma =>
          Promise.all([10, 20].map(other => prisma.account.findUnique({ where: { id: other }, select: { id: true } }))),
        )
        await bothRead?.arrive()
        return read
      })
    const meetings = [meetingOfTwo(), meetingOfTwo()]
    const [ten, twenty] = await Promise.all([insertAndRead(10, meetings), insertAndRead(20, meetings)])
    expect(ten).toEqual([{ id: 10 }, null])
    expect(twenty).toEqual([null, { id: 20 }])
  })

  it.each<[string, () => Promise<unknown>]>([
    ['another transaction', () => transaction(database, tx => tx.execute(sql`UPDATE accounts SET name = 'inner'`))],
    ['a snapshot', () => snapshot(database, tx => tx.query(sql`SELECT name FROM accounts`, { name: text }))],
    ['a transaction of Prisma Client', () => database.prisma.$transaction(prisma => rename('inner')(prisma))],
    ['a connection of its own', () => database.pool.connect()],
  ])('refuses %s inside, and does not commit by it', async (_what, inside) => {
    const work = transaction(database, async tx => {
      await tx.execute(sql`UPDATE accounts SET name = 'outer' WHERE id = 1`)
      await tx.prisma(async () => {
        await expect(inside()).rejects.toThrow('Work of `tx.prisma` uses the connection of its transaction alone')
      })
      throw new Error('roll back')
    })
    await expect(work).rejects.toThrow('roll back')
    expect(await nameOfAccount()).toEqual([{ name: 'fourth' }])
  })

  it.each([['COMMIT'], [{ text: 'COMMIT' }]])('does not let Prisma end it with %j', async commit => {
    const ending = async () => {
      const client = await database.pool.connect()
      await client.query(commit)
      client.release()
    }
    const client = await database.pool.connect()
    await client.query('BEGIN')
    await inTransactionOf(client, { $transaction: ending } as unknown as PrismaClient, async () => {})
    const { rows } = await client.query('SELECT now() < statement_timestamp() AS open')
    expect(rows).toEqual([{ open: true }])
    await client.query('ROLLBACK')
    client.release()
  })

  it('lends its connection until the work ends, even if something goes on after that', async () => {
    const [ended, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await transaction(database, async tx => {
      await tx.prisma(async () => {
        void ended.promise.then(() => transaction(database, async () => {})).then(gone.resolve, gone.reject)
      })
      ended.resolve()
      await gone.promise
    })
  })

  it('fails the transaction when a statement of Prisma fails', async () => {
    const work = transaction(database, async tx => {
      await tx.execute(sql`UPDATE accounts SET name = 'lost' WHERE id = 1`)
      await tx.prisma(prisma => prisma.account.create({ data: { id: 1, email: 'again@example.com' } }))
    })
    await expect(work).rejects.toMatchObject({ code: 'P2002' })
    expect(await nameOfAccount()).toEqual([{ name: 'fourth' }])
    const [count] = await database.query(
      sql`SELECT count(*)::int AS connections FROM pg_stat_activity
      WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
      { connections: int4 },
    )
    expect(count).toEqual({ connections: 0 })
  })
})

type Meeting = ReturnType<typeof meetingOfTwo>
/** Lets two transactions go on when both have arrived. */
function meetingOfTwo() {
  const { promise, resolve } = Promise.withResolvers<void>()
  let arrived = 0
  return {
    arrive() {
      arrived += 1
      if (arrived === 2) resolve()
      return promise
    },
  }
}
