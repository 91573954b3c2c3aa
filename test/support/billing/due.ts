import { pino } from 'pino'
import { Prisma } from '../../../src/database/generated/client.ts'
import { readBalance } from '../../../src/services/billing/balance.ts'
import { dueBillingServices } from '../../../src/services/billing/due/due.ts'
import { findNextLimitCheck } from '../../../src/services/billing/limits/usage.ts'
import type { DataDeps } from '../../../src/services/deps.ts'

/** Makes the account due and performs all due billing work. Returns the time of the account's next limit check. */
export async function performDueBilling({ database }: DataDeps, accountId: number): Promise<Date | null> {
  const work = dueBillingServices({ database, log: pino({ enabled: false }) }, { debtGraceMs: 48 * 3_600_000 })
  await database.execute(Prisma.sql`UPDATE accounts SET billing_due_at = ${database.nowSql} WHERE id = ${accountId}`)
  for (;;) {
    const leases = await work.leaseDue(100)
    if (leases.length === 0) break
    for (const lease of leases) await work.perform(lease)
  }
  return await findNextLimitCheck(database, await readBalance(database, accountId))
}
