import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'
import type { Prisma, PrismaClient } from './generated/client.ts'

/** The connection on which the current call of `inTransactionOf` runs. */
const lent = new AsyncLocalStorage<pg.PoolClient>()

/** The connections of the gateway. Prisma opens its transactions through `connect` without a callback. */
export class ConnectionPool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>
  override connect(callback: Parameters<pg.Pool['connect']>[0]): void
  override connect(callback?: Parameters<pg.Pool['connect']>[0]): Promise<pg.PoolClient> | undefined {
    if (callback) {
      super.connect(callback)
      return undefined
    }
    const client = lent.getStore()
    return client ? Promise.resolve(lend(client)) : super.connect()
  }
}

/**
 * Runs Prisma Client in a transaction that is open on a connection. Prisma begins and ends a transaction of its own there,
 * which does nothing: the open one goes on.
 */
export async function inTransactionOf<Result>(
  client: pg.PoolClient,
  prisma: PrismaClient,
  work: (prisma: Prisma.TransactionClient) => Promise<Result>,
): Promise<Result> {
  return await lent.run(client, () => prisma.$transaction(work))
}

const boundaries = new Set(['BEGIN', 'COMMIT', 'ROLLBACK'])

/** The connection without the means to end its transaction, or to give it back to the pool. */
function lend(client: pg.PoolClient): pg.PoolClient {
  const query = (statement: pg.QueryArrayConfig) =>
    boundaries.has(statement.text) ? Promise.resolve({ rows: [], fields: [], rowCount: 0 }) : client.query(statement)
  return Object.create(client, { query: { value: query }, release: { value: () => {} } })
}
