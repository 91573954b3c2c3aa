// Statements that a connection prepared before another gateway's migration changed the type of a column.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../../../src/database/client.ts'
import { Prisma } from '../../../../src/database/generated/client.ts'
import { int4 } from '../../../../src/database/row-types.ts'
import { snapshot, type Transaction, transaction } from '../../../../src/database/transaction.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'

const { sql } = Prisma
const poolSize = 8
let testDatabase: TestDatabase
let database: Database
beforeAll(async () => {
  testDatabase = await createDatabase()
  database = openDatabase({ url: testDatabase.url, poolSize, onIdleError: () => {} })
  await database.execute(sql`INSERT INTO accounts (id, email, name) VALUES (1, 'a@example.com', 'a')`)
})
afterAll(async () => {
  await database.close()
  await testDatabase.drop()
})

const rename = sql`UPDATE accounts SET name = name WHERE id = 1 RETURNING name`
const renameWithPrisma = (prisma: Prisma.TransactionClient) =>
  prisma.account.update({ where: { id: 1 }, data: { name: 'a' }, select: { name: true } })
const read = sql`SELECT name FROM accounts WHERE id = 1`
const readWithPrisma = (prisma: Prisma.TransactionClient) =>
  prisma.account.findFirstOrThrow({ where: { id: 1 }, select: { name: true } })

/** Each way to run a statement, which prepares it on the connection that it uses. */
const ways: [string, () => Promise<unknown>][] = [
  ['a statement', () => database.execute(read)],
  ['a statement that writes', () => database.execute(rename)],
  ['Prisma Client', () => readWithPrisma(database.prisma)],
  ['Prisma Client that writes', () => renameWithPrisma(database.prisma)],
  ['a statement in a transaction', () => transaction(database, tx => tx.execute(rename))],
  ['Prisma Client in a transaction', () => transaction(database, tx => tx.prisma(renameWithPrisma))],
  ['Prisma Client after a statement', () => transaction(database, renameTwice)],
  ['a statement in a snapshot', () => snapshot(database, tx => tx.execute(read))],
  ['Prisma Client in a snapshot', () => snapshot(database, tx => tx.prisma(readWithPrisma))],
]
const renameTwice = async (tx: Transaction) => {
  await tx.execute(rename)
  return await tx.prisma(renameWithPrisma)
}
const onAllConnections = (use: () => Promise<unknown>) => Promise.all(Array.from({ length: poolSize }, use))

/** As another gateway's migration does. */
const changeType = () => {
  length += 1
  return database.pool.query(`ALTER TABLE accounts ALTER COLUMN name TYPE varchar(${length})`)
}
let length = 200

describe('after a column has changed its type', () => {
  it.each(ways)('%s succeeds on every connection that prepared it before', async (_way, use) => {
    // A text has its name from its third use on.
    for (let time = 0; time < 3; time += 1) await onAllConnections(use)
    await changeType()
    for (let time = 0; time < 2 * poolSize; time += 1) await use()
    expect(await onAllConnections(use)).toHaveLength(poolSize)
  })

  it('a transaction runs its work once more on another connection, and the next transaction runs once', async () => {
    const small = openDatabase({ url: testDatabase.url, poolSize: 1, onIdleError: () => {} })
    const connectionsOf = async () => {
      const connections: unknown[] = []
      await transaction(small, async tx => {
        connections.push(...(await tx.query(sql`SELECT pg_backend_pid() AS pid`, { pid: int4 })))
        await tx.execute(rename)
      })
      return connections
    }
    const [before] = await connectionsOf()
    await changeType()
    const [first, second, ...more] = await connectionsOf()
    expect([first, more]).toEqual([before, []])
    expect(second).not.toEqual(first)
    expect(await connectionsOf()).toEqual([second])
    await small.close()
  })
})
