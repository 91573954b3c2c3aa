import type { Logger } from 'pino'
import type { Database } from './client.ts'
import { transaction } from './transaction.ts'

/** Clocks set by network time differ by less than this. */
export const clockWarningMs = 30_000

/** Takes the first reading of the database's clock. Estimates between statements start from it. */
export async function readClock(database: Database, log: Logger): Promise<void> {
  await transaction(database, () => Promise.resolve())
  const aheadMs = database.clock.aheadMs()
  if (Math.abs(aheadMs) > clockWarningMs)
    log.warn({ aheadMs }, "This machine's clock differs from the database's. Only the times in this log are affected.")
}

/** Tells the operator of steps of the database's clock, and counts those back. */
export function createClockSteps(log: Logger) {
  let back = 0
  return {
    notice(ms: number): void {
      if (ms < 0) back += 1
      log.warn(
        { seconds: ms / 1_000 },
        ms < 0
          ? "The database's clock was set back. Charges wait until it is where they ended, and what is due is looked at again now."
          : "The database's clock was set forward, or this computer slept. What runs is charged for that time, and due work of that time is done now.",
      )
    },
    countBack: () => back,
  }
}
