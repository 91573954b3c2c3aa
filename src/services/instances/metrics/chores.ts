// Computes the means of minutes, and empties partitions of samples.

import { errorCodesOf } from '../../../database/failure-codes.ts'
import { Prisma } from '../../../database/generated/client.ts'
import { timestamptz } from '../../../database/row-types.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { keptSamplesMs } from '../../../domain/instances/metrics.ts'
import type { DataDeps } from '../../deps.ts'
import { meansSql } from './means.ts'
import { minuteTurns, nextPartition, sampleTurns, slotSql } from './slots.ts'

const { sql } = Prisma

const minuteMs = 60_000
/** A minute is computed this long after its end: longer than a statement can take that adds a sample. */
const lateMs = 30_000
/** Minutes that are computed at once: after an outage, all together could take longer than a statement may. */
const mostMs = 5 * minuteMs

export function sampleChores({ database }: DataDeps) {
  return {
    /** Computes the means of minutes that have ended, each once. Returns `limit` if more minutes have ended. */
    async computeSampleMinutes(limit: number): Promise<number> {
      const isBehind = await whileAlone(async (tx, minutesUntil) => {
        const now = tx.at.getTime()
        const from = Math.max(minutesUntil.getTime(), Math.floor((now - keptSamplesMs) / minuteMs) * minuteMs)
        const until = Math.floor((now - lateMs) / minuteMs) * minuteMs
        if (until <= from) return false
        const [begin, end] = [new Date(from), new Date(Math.min(until, from + mostMs))]
        const source = sql`SELECT * FROM samples WHERE at >= ${begin}::timestamptz AND at < ${end}::timestamptz`
        await tx.execute(sql`
          INSERT INTO sample_minutes (instance_id, at, received_bytes, sent_bytes, cpu_cores, memory_mb, disk_mb,
            gpu_utilization, gpu_memory_mb, slot)
          SELECT m.*, ${slotSql(minuteTurns, sql`m.at`)} FROM (${meansSql(source, sql`date_trunc('minute', s.at)`)}) m
          ON CONFLICT DO NOTHING`)
        await tx.execute(sql`UPDATE sample_progress SET minutes_until = ${end}`)
        return end.getTime() < until
      })
      return isBehind ? limit : 0
    },

    /** Empties the partitions that come next, if they have rows. */
    async purgeSamples(): Promise<number> {
      await whileAlone(async tx => {
        // Readers wait behind a lock that is waited for.
        await tx.execute(sql`SET LOCAL lock_timeout = '300ms'`)
        for (const turns of [sampleTurns, minuteTurns])
          await tx.execute(sql`SELECT empty_sample_partition(${nextPartition(turns, tx.at)})`)
        return false
      })
      return 0
    },
  }

  /** Does nothing, and returns false, while another gateway does the same, or if readers hold the lock that it needs. */
  async function whileAlone(work: (tx: Transaction, minutesUntil: Date) => Promise<boolean>): Promise<boolean> {
    try {
      return await transaction(database, async tx => {
        const [progress] = await tx.query(sql`SELECT minutes_until FROM sample_progress FOR UPDATE SKIP LOCKED`, {
          minutesUntil: timestamptz,
        })
        return progress ? await work(tx, progress.minutesUntil) : false
      })
    } catch (error) {
      if (!errorCodesOf(error).includes(lockTimeoutCode)) throw error
      return false
    }
  }
}

const lockTimeoutCode = '55P03'
