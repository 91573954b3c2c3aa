import type { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Prisma } from './generated/client.ts'
import { rowsOf } from './rows.ts'

export type Transaction = {
  rows(statement: Prisma.Sql): Promise<unknown[][]>
  /** There is something new to do or to tell: whoever waits for it is woken after the commit. */
  announce(): void
}

/** What a pool emits after a commit that announced something. */
export const news = 'news'

/** Serialisation failures and deadlocks: PostgreSQL undid everything, and the same work may succeed next time. */
const conflicts = new Set(['40001', '40P01'])
const attempts = 5

/** Runs the work in one transaction. It may run more than once, so it must touch nothing but the database. */
export async function transaction<T>(pool: pg.Pool, work: (tx: Transaction) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await once(pool, work)
    } catch (error) {
      const { code } = error as { code?: string }
      if (attempt === attempts || code === undefined || !conflicts.has(code)) throw error
    }
    // Those that met would meet again if all of them came back at once.
    await sleep(Math.random() * 10 * 2 ** attempt)
  }
}

/** Reads with several statements what was so at one instant. */
export async function snapshot<T>(pool: pg.Pool, read: (tx: Pick<Transaction, 'rows'>) => Promise<T>): Promise<T> {
  return await once(pool, read, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
}

async function once<T>(pool: pg.Pool, work: (tx: Transaction) => Promise<T>, begin = 'BEGIN'): Promise<T> {
  const client = await pool.connect()
  let broken = false
  let announced = false
  let result: T
  try {
    await client.query(begin)
    const announce = () => {
      announced = true
    }
    result = await work({ rows: statement => rowsOf(client, statement), announce })
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {
      broken = true
    })
    throw error
  } finally {
    client.release(broken)
  }
  // Apart from this: whatever a listener does, what was committed was done.
  if (announced) queueMicrotask(() => (pool as EventEmitter).emit(news))
  return result
}
