// After the database's clock was set back, what was to be due soon is due as much later. These chores make it due.

import { Prisma } from '../../database/generated/client.ts'
import { transaction } from '../../database/transaction.ts'
import type { DataDeps } from '../deps.ts'

const { sql } = Prisma

/** Longer than from one pass over an instance to the next. */
const longestPassMs = 11 * 60_000
/** Longer than to the next pass over an instance that changes or runs, and to the next sample of a machine. */
const soonMs = 60_000

/** `countBack`: how often this gateway has seen the clock being set back. */
export function clockStepChores({ database }: DataDeps, countBack: () => number) {
  const nowPlus = (ms: number) => sql`${database.nowSql} + ${ms} * interval '1 millisecond'`
  /** A gateway that has just started looks once: no other one may have seen the last step. */
  const mended = { instances: -1, deliveries: -1 }

  return {
    /** If this gateway has seen no step, it mends only what can be due so late in no other way. */
    async mendDueInstances(limit: number): Promise<number> {
      const steps = countBack()
      if (steps === mended.instances) return 0
      const latest = nowPlus(steps === 0 ? longestPassMs : soonMs)
      const count = await transaction(database, async tx => {
        const due = await tx.execute(sql`
          UPDATE instance_looks SET due_at = ${tx.nowSql} WHERE instance_id = ANY(ARRAY(
            SELECT instance_id FROM instance_looks WHERE due_at > ${latest} ORDER BY due_at DESC LIMIT ${limit}
            FOR NO KEY UPDATE SKIP LOCKED
          ))`)
        if (due > 0) tx.notifyAfterCommit('instances')
        return due
      })
      if (count < limit) mended.instances = steps
      return count
    },

    async mendDueSamples(): Promise<number> {
      return await database.execute(
        sql`UPDATE samplings SET due_at = ${database.nowSql} WHERE due_at > ${nowPlus(soonMs)}`,
      )
    },

    /** Deliveries that were written or tried in the future. */
    async mendDueDeliveries(limit: number): Promise<number> {
      const steps = countBack()
      if (steps === mended.deliveries) return 0
      const { nowSql } = database
      const count = await database.execute(sql`
        UPDATE webhook_deliveries d SET due_at = ${nowSql} FROM (
          SELECT webhook_id, event_id FROM webhook_deliveries WHERE due_at > ${nowPlus(soonMs)}
          AND (attempts = 0 OR attempted_at > ${nowSql}) LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED
        ) late WHERE d.webhook_id = late.webhook_id AND d.event_id = late.event_id`)
      if (count < limit) mended.deliveries = steps
      return count
    },
  }
}
