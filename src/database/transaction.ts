import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Clock } from './clock.ts'
import { errorCodesOf, failureKindOf, isStalePlan } from './failure-codes.ts'
import { Prisma, type PrismaClient } from './generated/client.ts'
import { inTransactionOf, withoutNames } from './pool.ts'
import type { NameOf } from './statement-names.ts'
import { type Statements, statementsOn } from './statements.ts'
import type { WorkKind } from './wake-ups.ts'

const { sql } = Prisma

export type Transaction = Statements & {
  /**
   * The time of everything that the transaction writes, by the database's clock: its start or, once it has locked a
   * machine, the time of that lock. Each attempt has its own.
   */
  readonly at: Date
  /** The current time, as a SQL expression. */
  readonly nowSql: Prisma.Sql
  /** Runs Prisma Client in this transaction. */
  prisma<Result>(work: (prisma: Prisma.TransactionClient) => Promise<Result>): Promise<Result>
  /** Moves `at` to the time when the transaction got a lock. `at` never goes back. */
  advanceTo(lockedAt: Date): void
  /**
   * After the commit, and only then, calls the `notify` that was passed to `openDatabase`, once with all kinds: in app.ts it
   * wakes their loops and the streams. Called where work becomes due now, or where events are written.
   */
  notifyAfterCommit(kind: WorkKind): void
}

/** Errors of transactions that the server rolled back because it could not write, such as on a full disk or a standby. */
const rolledBack = new WeakSet<object>()
export function isRolledBack(failure: object): boolean {
  return rolledBack.has(failure)
}

/** Errors of COMMIT itself: the transaction may have been committed, so its work must not be done once more. */
const failedCommits = new WeakSet<object>()
export function mayHaveCommitted(failure: unknown): boolean {
  return typeof failure === 'object' && failure !== null && failedCommits.has(failure)
}

/** Serialization failures and deadlocks: PostgreSQL rolled back the transaction, and a retry may succeed. */
const conflictCodes = new Set(['40001', '40P01'])
const maxAttempts = 5

type TransactionDeps = {
  pool: pg.Pool
  prisma: PrismaClient
  clock: Clock
  nameOfRepeated: NameOf
  notify(kinds: ReadonlySet<WorkKind>): void
  onRefusal(error: unknown): void
}
/** A read-only transaction. Its `nowSql` is always `at`. */
export type Snapshot = Statements & Pick<Transaction, 'at' | 'nowSql' | 'prisma'>

export type TransactionOptions = {
  /** How long a statement waits for each lock, if not as long as the pool's setting says. */
  lockTimeoutMs?: number
}

/** Runs the work in one transaction. A conflict repeats the work, so it must change nothing but the database. */
export async function transaction<T>(
  database: TransactionDeps,
  work: (tx: Transaction) => Promise<T>,
  { lockTimeoutMs }: TransactionOptions = {},
): Promise<T> {
  const begin =
    lockTimeoutMs === undefined ? beginWriting : `${beginWriting}, ${localSetting('lock_timeout', lockTimeoutMs)}`
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptTransaction(database, begin, work)
    } catch (error) {
      if (attempt === maxAttempts || !errorCodesOf(error).some(code => conflictCodes.has(code))) {
        if (error instanceof Error && failureKindOf(error) === 'refused') rolledBack.add(error)
        throw error
      }
    }
    // Random backoff: transactions that retry at the same time would conflict again.
    await sleep(Math.random() * 10 * 2 ** attempt)
  }
}

/** Runs several statements that all read the database as of one instant. */
export async function snapshot<T>(database: TransactionDeps, read: (tx: Snapshot) => Promise<T>): Promise<T> {
  return await attemptTransaction(database, beginSnapshot, async ({ at, ...tx }) => {
    return await read({ ...tx, at, nowSql: sql`${at}::timestamptz` })
  })
}

/** Begins once more if a column has changed its type since the connection prepared a statement. */
async function attemptTransaction<T>(
  database: TransactionDeps,
  begin: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  try {
    return await runTransaction(database, await database.pool.connect(), begin, work)
  } catch (error) {
    if (!isStalePlan(error)) throw error
    // The other connections of the pool may be as old.
    return await runTransaction(database, withoutNames(await database.pool.connect()), begin, work)
  }
}

async function runTransaction<T>(
  { prisma, clock, nameOfRepeated, notify, onRefusal }: TransactionDeps,
  client: pg.PoolClient,
  begin: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  let isBroken = false
  const kinds = new Set<WorkKind>()
  let result: T
  try {
    const askedMs = performance.now()
    let at = clock.recordReading(await beginTransaction(client, begin), askedMs)
    result = await work({
      ...statementsOn(client, nameOfRepeated),
      get at() {
        return at
      },
      get nowSql() {
        return clock.nowSql
      },
      prisma: prismaWork => inTransactionOf(client, prisma, prismaWork),
      advanceTo(lockedAt) {
        const later = clock.timeOfLock(lockedAt)
        if (later > at) at = later
      },
      notifyAfterCommit(kind) {
        kinds.add(kind)
      },
    })
    await commit(client)
  } catch (error) {
    const isRefused = failureKindOf(error) === 'refused'
    // Drop the connection: the next one may lead to the promoted server, which accepts writes, and has no stale plans.
    isBroken = isRefused || isStalePlan(error)
    await client.query('ROLLBACK').catch(() => {
      isBroken = true
    })
    if (isRefused) onRefusal(error)
    throw error
  } finally {
    client.release(isBroken)
  }
  // In a microtask: an error in `notify` must not make a committed transaction look failed.
  if (kinds.size > 0) queueMicrotask(() => notify(kinds))
  return result
}

/** After a failed statement, PostgreSQL answers COMMIT with a rollback, not with an error. */
async function commit(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT').catch((error: unknown) => {
    if (error instanceof Error) failedCommits.add(error)
    throw error
  })
  if (command === 'COMMIT') return
  throw new Error(
    'PostgreSQL rolled the transaction back instead of committing it: a statement failed, and the work went on without it.',
  )
}

/**
 * Each statement of a write has one good plan, whatever its values. Left to itself, PostgreSQL often plans for the values of
 * each execution, which takes longer than the execution.
 */
const beginWriting = `BEGIN; SELECT clock_timestamp(), ${localSetting('plan_cache_mode', 'force_generic_plan')}`
const beginSnapshot = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT clock_timestamp()'

/** Sets a setting until the transaction ends. */
function localSetting(name: string, value: string | number): string {
  return `set_config('${name}', '${value}', true)`
}

/** Begins the transaction and reads the database's clock in one round trip. */
async function beginTransaction(client: pg.PoolClient, begin: string): Promise<Date> {
  const results: unknown = await client.query(begin)
  // For two statements, pg returns an array of two results.
  const [, { rows }] = results as [unknown, pg.QueryResult<{ clock_timestamp: Date }>]
  return rows[0]?.clock_timestamp as Date
}
