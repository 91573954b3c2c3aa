import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { type Clock, createClock } from './clock.ts'
import { checkEpoch } from './epoch.ts'
import { failureKindOf } from './failure-codes.ts'
import { type Prisma, PrismaClient } from './generated/client.ts'
import { queryRows } from './rows.ts'

/** One pool, read and written by Prisma and by SQL of our own. */
export type Database = {
  prisma: PrismaClient
  pool: pg.Pool
  clock: Clock
  /** The present instant, as an expression in a statement. */
  readonly now: Prisma.Sql
  /** Runs a statement of our own, and reads its rows as arrays of values: see `rowsOf` for their types. */
  rows(statement: Prisma.Sql): Promise<unknown[][]>
  /** Called after each commit that asked for it with `notifyAfterCommit`. */
  notify(): void
  /** Called when the server refused something that may succeed later. */
  onRefusal(error: unknown): void
  close(): Promise<void>
}

type DatabaseOptions = {
  url: string
  poolSize: number
  onIdleError: (error: Error) => void
  /** A connection found the database on another line of history, and has raised the epoch of cursors. */
  onNewEpoch?: () => void
  /** Wakes those who wait for due work or events. Without it they find both at their next poll, as after a lost wake-up. */
  notify?: () => void
  onRefusal?: (error: unknown) => void
  /** In tests, a clock in place of the database's. */
  now?: (() => Date) | undefined
}

/** The server cancels first, then the client gives up: a statement that nobody waits for must not go on running. */
const timeouts = {
  connectionTimeoutMillis: 2_000,
  statement_timeout: 5_000,
  query_timeout: 7_000,
  lock_timeout: 2_000,
  idle_in_transaction_session_timeout: 10_000,
}

export function openDatabase({
  url,
  poolSize,
  onIdleError,
  onNewEpoch,
  notify = () => {},
  onRefusal = () => {},
  now,
}: DatabaseOptions): Database {
  const clock = createClock(now)
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    idleTimeoutMillis: 0,
    keepAlive: true,
    application_name: 'berth',
    // Compiling a search costs more than running it.
    options: '-c jit=off',
    // The pool waits for it, and gives the connection out only when it succeeds.
    onConnect: async client => {
      if (await checkEpoch(client)) onNewEpoch?.()
    },
    ...timeouts,
  })
  pool.on('error', onIdleError)
  // One that is lost amid a transaction, between two statements, fails the next of them. Unheard, it would end the process.
  pool.on('connect', client => client.on('error', () => {}))
  // Without names: Prisma's statements have the columns that a GraphQL query selects, and a parameter for each id.
  const adapter = new PrismaPg(pool)
  const prisma = new PrismaClient({ adapter, transactionOptions: { maxWait: 1_000, timeout: 6_000 } })
  return {
    prisma,
    pool,
    clock,
    notify,
    onRefusal,
    get now() {
      return clock.nowSql
    },
    async rows(statement) {
      try {
        return await queryRows(pool, statement)
      } catch (error) {
        if (failureKindOf(error) === 'refused') onRefusal(error)
        throw error
      }
    },
    async close() {
      await prisma.$disconnect()
      await pool.end()
    },
  }
}
