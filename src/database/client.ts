import { PrismaPg } from '@prisma/adapter-pg'
import type pg from 'pg'
import { type Clock, createClock } from './clock.ts'
import { failureKindOf } from './failure-codes.ts'
import { type Prisma, PrismaClient } from './generated/client.ts'
import { createEpochCheck, type EpochCheck } from './history/epoch.ts'
import type { NewLine } from './history/new-line.ts'
import { refuseTooOld, sessionName } from './history/versions.ts'
import { ConnectionPool, paceReads } from './pool.ts'
import { createServerGuard } from './pooler/guard.ts'
import { connectionLifetimeMs, createRepeatedNames, type NameOf } from './statement-names.ts'
import { traceStatements } from './statement-spans.ts'
import { type Statements, statementsOn } from './statements.ts'
import type { WorkKind } from './wake-ups.ts'

/** One connection pool for Prisma and for handwritten SQL. */
export type Database = Statements & {
  prisma: PrismaClient
  pool: ConnectionPool
  clock: Clock
  /** Names of texts that repeat, on the connections of the pool. */
  nameOfRepeated: NameOf
  /** The current time, as a SQL expression. */
  readonly nowSql: Prisma.Sql
  /** Called after each commit of a transaction that called `notifyAfterCommit`, with the kinds of work that it named. */
  notify(kinds: ReadonlySet<WorkKind>): void
  /** Called when the server refused a statement that may succeed later. */
  onRefusal(error: unknown): void
  close(): Promise<void>
}

export type DatabaseOptions = {
  url: string
  /** PostgreSQL itself, if `url` leads through a pooler of transactions. */
  directUrl?: string | undefined
  poolSize: number
  /** How long work waits for a connection. */
  connectionTimeoutMs?: number
  onIdleError: (error: Error) => void
  /** Another pool of this gateway uses it, too: what one has seen, the other knows. */
  checkEpoch?: EpochCheck
  /** Called when a connection finds the database on another line of history and has raised the cursors' epoch. */
  onNewEpoch?: (line: NewLine) => void
  /** Wakes the loops and streams. Without it, they find work and events at their next poll, as after a lost wake-up. */
  notify?: (kinds: ReadonlySet<WorkKind>) => void
  onRefusal?: (error: unknown) => void
  /** Called with the milliseconds by which the database's clock was set forward. They are negative if it was set back. */
  onClockStep?: ((ms: number) => void) | undefined
  /** Replaces the database's clock in tests. */
  now?: (() => Date) | undefined
  /** The clock that another pool of this gateway reads, too. */
  clock?: Clock
}

/** The server cancels a statement before the client gives up: an abandoned statement must not keep running. */
const timeouts = { statement_timeout: 5_000, lock_timeout: 2_000, idle_in_transaction_session_timeout: 10_000 }
const queryTimeoutMs = 7_000

export function openDatabase({
  url,
  directUrl,
  poolSize,
  connectionTimeoutMs = 2_000,
  onIdleError,
  checkEpoch = createEpochCheck(),
  onNewEpoch,
  notify = () => {},
  onRefusal = () => {},
  onClockStep,
  now,
  clock = createClock(now, onClockStep),
}: DatabaseOptions): Database {
  const check = async (client: pg.ClientBase) => {
    const line = await checkEpoch.check(client)
    if (line) onNewEpoch?.(line)
    await refuseTooOld(client)
  }
  // JIT compilation of a search takes longer than the search.
  const ofConnections = { ...timeouts, options: '-c jit=off', onConnect: check, isOutdated: checkEpoch.isOutdated }
  const pool = new ConnectionPool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: connectionTimeoutMs,
    idleTimeoutMillis: 0,
    maxLifetimeSeconds: connectionLifetimeMs / 1_000,
    keepAlive: true,
    // Statements of a transaction that do not wait for each other (`inOrder`) share a round trip.
    pipeline: true,
    application_name: sessionName,
    query_timeout: queryTimeoutMs,
    // Before the pool hands out a connection, or begins a transaction, the check must have succeeded.
    ...(directUrl === undefined
      ? ofConnections
      : { guard: createServerGuard({ directUrl, settings: { ...timeouts, jit: 'off' }, check }) }),
  })
  pool.on('error', onIdleError)
  // A connection lost between two statements of a transaction fails the next statement. Without this listener, the
  // error event would end the process.
  pool.on('connect', client => client.on('error', () => {}))
  pool.on('connect', paceReads)
  pool.on('connect', traceStatements)
  const nameOfRepeated = createRepeatedNames()
  // The texts of Prisma's statements vary with what is selected and the number of ids.
  const adapter = new PrismaPg(pool, { statementNameGenerator: ({ sql }) => nameOfRepeated(sql) })
  const prisma = new PrismaClient({ adapter, transactionOptions: { maxWait: 1_000, timeout: 6_000 } })
  const reportRefusal = (error: unknown) => {
    if (failureKindOf(error) === 'refused') onRefusal(error)
  }
  return {
    ...statementsOn(pool, nameOfRepeated, reportRefusal),
    prisma,
    pool,
    clock,
    nameOfRepeated,
    notify,
    onRefusal,
    get nowSql() {
      return clock.nowSql
    },
    async close() {
      await prisma.$disconnect()
      await pool.end()
    },
  }
}
