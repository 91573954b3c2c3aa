import type { Logger } from 'pino'
import type { Database } from './client.ts'
import { transaction } from './transaction.ts'

/** Clocks set by network time differ by less than this. */
const clockWarningMs = 30_000

/** Takes the first reading of the database's clock. Estimates between statements start from it. */
export async function readClock(database: Database, log: Logger): Promise<void> {
  await transaction(database, () => Promise.resolve())
  const aheadMs = database.clock.aheadMs()
  if (Math.abs(aheadMs) > clockWarningMs)
    log.warn({ aheadMs }, "This machine's clock differs from the database's. Only the times in this log are affected.")
}
