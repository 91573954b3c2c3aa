// Stops what limits count that have been reached, when an account is looked at.

import type { Database } from '../database/client.ts'
import { Prisma } from '../database/generated/client.ts'
import { transaction } from '../database/transaction.ts'
import { isStoppedByLimit, limitsDueAt } from './billing-limits-look.ts'
import { lockBalance, readBalance } from './billing-meters.ts'
import { followMarkets, lockInstances, writeSteps } from './instances-write.ts'

const { sql } = Prisma

/**
 * Notes the limits that have been reached, and stops what those count that stop it. When to look again is returned; null
 * for when something is changed. It may be done over and over, by several at once, and end anywhere.
 */
export async function enforceLimits(database: Database, accountId: number, now: Date): Promise<Date | null> {
  const { isLimited } = await readBalance(database, accountId, now)
  if (!isLimited) return null
  // In a transaction of its own: instances are taken before accounts.
  const { at } = await transaction(database.pool, tx => lockBalance(tx, accountId, now))
  const machines = await transaction(database.pool, async tx => {
    const stopped = sql`
      SELECT i.id FROM instances i JOIN meters m ON m.instance_id = i.id AND m.kind = 'compute'
      WHERE m.account_id = ${accountId} AND i.target_state = 'running' AND i.destroyed_at IS NULL AND ${isStoppedByLimit(at)}`
    const seen = (await tx.rows(stopped)).map(([id]) => id as bigint)
    const locked = await lockInstances(tx, seen, accountId)
    // What was changed before it was taken is asked for once more.
    const still = new Set((await tx.rows(stopped)).map(([id]) => id as bigint))
    const steps = locked
      .filter(({ subject }) => still.has(subject.id))
      .map(({ subject: { id } }) => ({ id, outcome: 'applied', targetState: 'stopped' }) as const)
    return await writeSteps(tx, { reason: 'SPEND_LIMIT' }, steps, locked, at)
  })
  await followMarkets(database, machines, at)
  return await limitsDueAt(database, await readBalance(database, accountId, now))
}
