import { AsyncLocalStorage } from 'node:async_hooks'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { keepTrace } from '../traces/callers.ts'
import { isStalePlan } from './failure-codes.ts'
import type { Prisma, PrismaClient } from './generated/client.ts'
import { createPlaces } from './places.ts'
import { guarded, queryAlone, type ServerGuard, withoutName } from './pooler/guard.ts'

/** The connection of an open transaction, for the one `connect` that Prisma makes in a call of `inTransactionOf`. */
type Loan = { client: pg.PoolClient; state: 'offered' | 'taken' | 'ended' }
const loans = new AsyncLocalStorage<Loan>()

type Connected = Parameters<pg.Pool['connect']>[0]

/** A connection is closed, and not given to anybody, if it is outdated when its turn comes. */
type PoolOptions = pg.PoolConfig & { guard?: ServerGuard | undefined; isOutdated?: (client: pg.ClientBase) => boolean }

/** The connections of the gateway. Prisma opens its transactions through `connect` without a callback. */
export class ConnectionPool extends pg.Pool {
  /** The pool itself never queues, since it has as many connections as there are places. */
  readonly #places = createPlaces(this.options.max, this.options.connectionTimeoutMillis as number)
  /** Set if the connections lead through a pooler. */
  readonly #guard: ServerGuard | undefined

  readonly #isOutdated: (client: pg.ClientBase) => boolean

  constructor({ guard, isOutdated = () => false, ...config }: PoolOptions) {
    super(config)
    this.#guard = guard
    this.#isOutdated = isOutdated
  }

  /** How many wait for a connection. The pool's own queue is empty. */
  get waiting(): number {
    return this.#places.waiting()
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    if (callback) {
      this.#connectInTurn(callback)
      return undefined
    }
    const loan = loans.getStore()
    if (!loan || loan.state === 'ended') return this.#take()
    if (loan.state === 'taken') return Promise.reject(new Error(nestedMessage))
    loan.state = 'taken'
    return Promise.resolve(lend(loan.client))
  }

  #take(): Promise<pg.PoolClient> {
    return new Promise((resolve, reject) => {
      this.#connectInTurn((error, client) => (client ? resolve(client) : reject(error)))
    })
  }

  #connectInTurn(connected: Connected): void {
    // The request that gives the place back calls it, or the connection does.
    const callback = keepTrace(connected)
    this.#places.ask(place => {
      if ('refusal' in place) return callback(place.refusal, undefined, () => {})
      this.#connectAnew((error, client, release) => {
        if (!client) {
          place.giveBack()
          return callback(error, undefined, release)
        }
        client.release = broken => {
          release(broken)
          place.giveBack()
        }
        callback(undefined, this.#guard ? guarded(client, this.#guard) : client, client.release)
      })
    })
  }

  #connectAnew(callback: Connected): void {
    super.connect((error, client, release) => {
      if (!client || !this.#isOutdated(client)) return callback(error, client, release)
      release(true)
      this.#connectAnew(callback)
    })
  }

  /** The pool drops the connection of a statement that failed. A stale one is repeated without its name, on any other. */
  override query = (async (statement: Statement, values?: unknown[]) => {
    if (this.#guard) return await this.#queryAlone(statement, values)
    try {
      return await super.query(statement, values)
    } catch (error) {
      if (!isStalePlan(error)) throw error
      return await super.query(withoutName(statement), values)
    }
  }) as pg.Pool['query']

  async #queryAlone(statement: Statement, values?: unknown[]) {
    const client = await this.#take()
    let isBroken = true
    try {
      const result = await queryAlone(client, statement, values)
      isBroken = false
      return result
    } finally {
      client.release(isBroken)
    }
  }
}

const nestedMessage =
  'Work of `tx.prisma` uses the connection of its transaction alone. Begin another transaction outside of it.'

/**
 * Runs Prisma Client in a transaction that is open on a connection. Prisma begins and ends a transaction of its own there,
 * which does nothing: the open one goes on.
 */
export async function inTransactionOf<Result>(
  client: pg.PoolClient,
  prisma: PrismaClient,
  work: (prisma: Prisma.TransactionClient) => Promise<Result>,
): Promise<Result> {
  const loan: Loan = { client, state: 'offered' }
  return await loans
    .run(loan, () => prisma.$transaction(work))
    .finally(() => {
      loan.state = 'ended'
    })
}

const boundaries = new Set(['BEGIN', 'COMMIT', 'ROLLBACK'])

type Statement = string | pg.QueryConfig

/** The connection without names of statements: each one is prepared for its single use. */
export function withoutNames(client: pg.PoolClient): pg.PoolClient {
  const query = (statement: Statement, values?: unknown[]) => client.query(withoutName(statement), values)
  return Object.create(client, { query: { value: query } })
}

/** The connection without the means to end its transaction, or to give it back to the pool. */
function lend(client: pg.PoolClient): pg.PoolClient {
  const query = (statement: Statement, values?: unknown[]) =>
    boundaries.has(typeof statement === 'string' ? statement : statement.text)
      ? Promise.resolve({ rows: [], fields: [], rowCount: 0 })
      : client.query(statement, values)
  return Object.create(client, { query: { value: query }, release: { value: () => {} } })
}

/** A few milliseconds of reading. */
const bytesPerTurn = 262_144

/**
 * Lets other work run while a connection gets a long answer. Node would read the socket up to 32 times, 64 KB each, before it
 * does anything else, and the driver makes rows of all that.
 */
export function paceReads(client: pg.ClientBase): void {
  const { stream } = (client as pg.ClientBase & { connection: { stream: Duplex } }).connection
  let bytes = 0
  stream.on('data', (chunk: Uint8Array) => {
    bytes += chunk.byteLength
    if (bytes < bytesPerTurn) return
    bytes = 0
    stream.pause()
    setImmediate(() => stream.resume())
  })
}
