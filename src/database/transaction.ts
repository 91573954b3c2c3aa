import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Clock } from './clock.ts'
import { errorCodesOf, failureKindOf } from './failure-codes.ts'
import { Prisma } from './generated/client.ts'
import { queryRows } from './rows.ts'

const { sql } = Prisma

export type Transaction = {
  /**
   * The instant of everything that the transaction writes, by the database's clock: when it began or, once it has locked
   * a machine, when it had that lock. Each attempt has its own.
   */
  readonly at: Date
  /** The present instant, as an expression in a statement. */
  readonly now: Prisma.Sql
  rows(statement: Prisma.Sql): Promise<unknown[][]>
  /** It had to wait for a lock, and got it at this instant. `at` never goes back. */
  advanceTo(until: Date): void
  /** Calls the database's `notify` once this has committed, and never if it does not: there is due work, or an event. */
  notifyAfterCommit(): void
}

/** Failures of which the server said that it undid the whole transaction. */
const rolledBack = new WeakSet<object>()
export function isRolledBack(failure: object): boolean {
  return rolledBack.has(failure)
}

/** Serialisation failures and deadlocks: PostgreSQL undid everything, and the same work may succeed next time. */
const conflictCodes = new Set(['40001', '40P01'])
const maxAttempts = 5

type TransactionDeps = { pool: pg.Pool; clock: Clock; notify(): void; onRefusal(error: unknown): void }
/** What a snapshot can do. Its `now` stands still at `at`. */
export type Snapshot = Pick<Transaction, 'at' | 'now' | 'rows'>

/** Runs the work in one transaction. It may run more than once, so it must touch nothing but the database. */
export async function transaction<T>(database: TransactionDeps, work: (tx: Transaction) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptTransaction(database, 'BEGIN', work)
    } catch (error) {
      if (attempt === maxAttempts || !errorCodesOf(error).some(code => conflictCodes.has(code))) {
        if (error instanceof Error && failureKindOf(error) === 'refused') rolledBack.add(error)
        throw error
      }
    }
    // Those that met would meet again if all of them came back at once.
    await sleep(Math.random() * 10 * 2 ** attempt)
  }
}

/** Reads with several statements what was so at one instant. */
export async function snapshot<T>(database: TransactionDeps, read: (tx: Snapshot) => Promise<T>): Promise<T> {
  return await attemptTransaction(database, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', async ({ at, rows }) => {
    return await read({ at, now: sql`${at}::timestamptz`, rows })
  })
}

async function attemptTransaction<T>(
  { pool, clock, notify, onRefusal }: TransactionDeps,
  begin: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let isBroken = false
  let notifies = false
  let result: T
  try {
    const askedMs = performance.now()
    let at = clock.recordReading(await beginTransaction(client, begin), askedMs)
    result = await work({
      get at() {
        return at
      },
      get now() {
        return clock.nowSql
      },
      rows: statement => queryRows(client, statement),
      advanceTo(until) {
        const later = clock.recordReading(until)
        if (later > at) at = later
      },
      notifyAfterCommit() {
        notifies = true
      },
    })
    await client.query('COMMIT')
  } catch (error) {
    const isRefused = failureKindOf(error) === 'refused'
    // The next connection may lead to a server that can: the one that was promoted.
    isBroken = isRefused
    await client.query('ROLLBACK').catch(() => {
      isBroken = true
    })
    if (isRefused) onRefusal(error)
    throw error
  } finally {
    client.release(isBroken)
  }
  // In a microtask: the transaction has committed, and an error in `notify` must not make it look failed.
  if (notifies) queueMicrotask(notify)
  return result
}

/** Begins, and reads the database's clock in the same round trip. */
async function beginTransaction(client: pg.PoolClient, begin: string): Promise<Date> {
  const results: unknown = await client.query(`${begin}; SELECT clock_timestamp()`)
  // pg answers two statements with a list of two results.
  const [, { rows }] = results as [unknown, pg.QueryResult<{ clock_timestamp: Date }>]
  return rows[0]?.clock_timestamp as Date
}
