// The database's clock is the only one that counts: all gateways share it. A gateway's own clock decides nothing.

import { Prisma } from './generated/client.ts'

export type Clock = {
  /** The present instant, as an expression in a statement. */
  readonly sql: Prisma.Sql
  /** The present instant between statements: the last reading, and what has passed since. It never runs ahead. */
  now(): Date
  /** Takes what the database has just answered, and returns the instant that counts. */
  read(at: Date): Date
}

const { sql } = Prisma

/** Of the database. Tests give another clock in its place. */
export function createClock(given?: () => Date): Clock {
  if (given) {
    return {
      get sql() {
        return sql`${given()}::timestamptz`
      },
      now: given,
      read: given,
    }
  }
  // Before the first reading there is nothing better than when the process began.
  let offsetMs = performance.timeOrigin
  return {
    // Stable within a statement, so that an index serves; in whole milliseconds, as columns and dates have them.
    sql: sql`date_trunc('milliseconds', statement_timestamp())`,
    now: () => new Date(Math.floor(offsetMs + performance.now())),
    read(at) {
      offsetMs = at.getTime() - performance.now()
      return at
    },
  }
}
