// All gateways share the database's clock, and only that clock counts. A gateway's own clock decides nothing.

import { Prisma } from './generated/client.ts'

export type Clock = {
  /** The current time, as a SQL expression. */
  readonly nowSql: Prisma.Sql
  /** The current time between statements: the last reading plus the time since. Never ahead of the database's clock. */
  now(): Date
  /** Like `now`, but never behind the database's clock: for anything that must end in time. */
  latest(): Date
  /**
   * Records the reading `at` of the database's clock and returns the time to use. `askedMs` is the performance.now() of
   * the request. Later estimates start from this reading, so its answer must not have waited for a lock.
   */
  recordReading(at: Date, askedMs: number): Date
  /** The time to use after a lock that was taken `at` this reading: `at` itself, or in tests the test's time. */
  timeOfLock(at: Date): Date
  /** How far this process's clock is ahead of the database's. */
  aheadMs(): number
}

const { sql } = Prisma

/** The database's clock. Tests replace it with `testNow`. */
export function createClock(testNow?: () => Date): Clock {
  if (testNow) {
    return {
      get nowSql() {
        return sql`${testNow()}::timestamptz`
      },
      now: testNow,
      latest: testNow,
      recordReading: testNow,
      timeOfLock: testNow,
      aheadMs: () => 0,
    }
  }
  // Until the first reading, the process's own clock is the best estimate.
  let [earliestOffsetMs, latestOffsetMs] = [performance.timeOrigin, performance.timeOrigin]
  const nowMs = () => Math.floor(earliestOffsetMs + performance.now())
  return {
    // Stable within a statement, so that an index can serve it. Whole milliseconds, as columns and Date objects have.
    nowSql: sql`date_trunc('milliseconds', statement_timestamp())`,
    now: () => new Date(nowMs()),
    latest: () => new Date(Math.ceil(latestOffsetMs + performance.now())),
    recordReading(at, askedMs) {
      // The server read its clock between request and answer. `at` lacks the fraction of a millisecond: hence the 1.
      earliestOffsetMs = at.getTime() - performance.now()
      latestOffsetMs = at.getTime() + 1 - askedMs
      return at
    },
    timeOfLock: at => at,
    aheadMs: () => Date.now() - nowMs(),
  }
}
