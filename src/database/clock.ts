// The database's clock is the only one that counts: all gateways share it. A gateway's own clock decides nothing.

import { Prisma } from './generated/client.ts'

export type Clock = {
  /** The present instant, as an expression in a statement. */
  readonly nowSql: Prisma.Sql
  /** The present instant between statements, from the last reading and what has passed since. It is never ahead. */
  now(): Date
  /** The same, but never behind: for what must end in time. */
  latest(): Date
  /**
   * Takes the database's answer and returns the instant that counts. `askedMs` is the performance.now() of the request.
   * Pass it only if the answer came without a wait for a lock: later estimates start from such a reading.
   */
  recordReading(at: Date, askedMs?: number): Date
  /** How far the process's own clock is ahead. */
  aheadMs(): number
}

const { sql } = Prisma

/** Of the database. Tests give another clock in its place. */
export function createClock(testNow?: () => Date): Clock {
  if (testNow) {
    return {
      get nowSql() {
        return sql`${testNow()}::timestamptz`
      },
      now: testNow,
      latest: testNow,
      recordReading: testNow,
      aheadMs: () => 0,
    }
  }
  // Before the first reading nothing better is known than when the process began.
  let [earliestOffsetMs, latestOffsetMs] = [performance.timeOrigin, performance.timeOrigin]
  const nowMs = () => Math.floor(earliestOffsetMs + performance.now())
  return {
    // Stable within a statement, so that an index serves; in whole milliseconds, as columns and dates have them.
    nowSql: sql`date_trunc('milliseconds', statement_timestamp())`,
    now: () => new Date(nowMs()),
    latest: () => new Date(Math.ceil(latestOffsetMs + performance.now())),
    recordReading(at, askedMs) {
      if (askedMs === undefined) return at
      // It was read between the question and the answer. A date has lost what was less than a millisecond.
      earliestOffsetMs = at.getTime() - performance.now()
      latestOffsetMs = at.getTime() + 1 - askedMs
      return at
    },
    aheadMs: () => Date.now() - nowMs(),
  }
}
