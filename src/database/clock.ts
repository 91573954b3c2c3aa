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
  /** For how long this process has seen the database's clock run steadily. Between two instants, no more time can have passed for sure. */
  steadyMs(): number
}

/** Steps by less are not noticed. Between two readings, clocks that network time adjusts drift by far less. */
export const minStepMs = 5_000

const { sql } = Prisma

/**
 * The database's clock. Tests replace it with `testNow`. `onStep` is called when it was set forward by so many milliseconds at least,
 * or back if they are negative. A computer that slept sees it set forward.
 */
export function createClock(testNow?: () => Date, onStep: (ms: number) => void = () => {}): Clock {
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
      steadyMs: () => Number.POSITIVE_INFINITY,
    }
  }
  // Until the first reading, the process's own clock is the best estimate.
  let [earliestOffsetMs, latestOffsetMs] = [performance.timeOrigin, performance.timeOrigin]
  let hasRead = false
  let steppedAtMs = Number.NEGATIVE_INFINITY
  const nowMs = () => Math.floor(earliestOffsetMs + performance.now())

  /** Both readings tell between which two offsets the clock is. If these do not overlap, the clock has stepped. */
  function noticeStep(earliest: number, latest: number): void {
    const ahead = earliest - latestOffsetMs
    const back = latest - earliestOffsetMs
    const stepMs = ahead > 0 ? ahead : Math.min(0, back)
    if (!hasRead || Math.abs(stepMs) < minStepMs) return
    steppedAtMs = performance.now()
    onStep(Math.round(stepMs))
  }

  return {
    // Stable within a statement, so that an index can serve it. Whole milliseconds, as columns and Date objects have.
    nowSql: sql`date_trunc('milliseconds', statement_timestamp())`,
    now: () => new Date(nowMs()),
    latest: () => new Date(Math.ceil(latestOffsetMs + performance.now())),
    recordReading(at, askedMs) {
      // The answer may have been read before the step.
      if (askedMs < steppedAtMs) return at
      // The server read its clock between request and answer. `at` lacks the fraction of a millisecond: hence the 1.
      const [earliest, latest] = [at.getTime() - performance.now(), at.getTime() + 1 - askedMs]
      noticeStep(earliest, latest)
      earliestOffsetMs = earliest
      latestOffsetMs = latest
      hasRead = true
      return at
    },
    timeOfLock: at => at,
    aheadMs: () => Date.now() - nowMs(),
    steadyMs: () => performance.now() - steppedAtMs,
  }
}
