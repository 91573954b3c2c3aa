import { errorCodesOf } from '../../database/failure-codes.ts'
import { Prisma } from '../../database/generated/client.ts'
import { bool, int8, text, timestamptz } from '../../database/row-types.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { DataDeps } from '../deps.ts'
import {
  beginPartition,
  dropOldestPartition,
  listPartitions,
  type Partition,
  partitionSize,
  readLastId,
} from './partitions.ts'

const { sql } = Prisma

const [dayMs, hourMs] = [86_400_000, 3_600_000]
/** Events are kept in this many parts. More parts go sooner, and make reads of all events dearer. */
const parts = 4

export function retentionServices({ database }: DataDeps, retentionDays: number) {
  const keptMs = retentionDays * dayMs

  return {
    /**
     * Begins a partition when a part of the retention has passed, or half of the ids are used. Returns how many
     * partitions it began.
     */
    async partitionEvents(): Promise<number> {
      return await whileAlone(async (tx, partitions) => {
        const current = partitions.at(-1)
        if (!current) throw new Error('The table events has no partition.')
        const first = await findEdge(tx, current, 'ASC')
        const isOld = first && first.createdAt.getTime() <= tx.at.getTime() - keptMs / parts
        if (!isOld && current.before - (await readLastId(tx)) > partitionSize / 2n) return 0
        await beginPartition(tx)
        return 1
      })
    },

    /** Drops the oldest partition if all of its events have expired. Returns how many partitions it dropped. */
    async purgeEvents(): Promise<number> {
      return await whileAlone(async (tx, [oldest]) => {
        if (!oldest || oldest.before > (await readLastId(tx))) return 0
        // The last id was taken last, and the transactions that had ids then lasted no hour.
        const last = await findEdge(tx, oldest, 'DESC')
        if (last && last.createdAt.getTime() >= tx.at.getTime() - keptMs - hourMs) return 0
        return (await drop(tx, oldest)) ? 1 : 0
      })
    },
  }

  /** Does nothing while another gateway does the same, or if others hold the locks that it needs. */
  async function whileAlone(work: (tx: Transaction, partitions: Partition[]) => Promise<number>): Promise<number> {
    try {
      return await transaction(database, async tx => {
        if (!(await tx.execute(sql`SELECT FROM outbox FOR UPDATE SKIP LOCKED`))) return 0
        // Requests wait behind a lock that is waited for.
        await tx.execute(sql`SET LOCAL lock_timeout = '300ms'`)
        return await work(tx, await listPartitions(tx))
      })
    } catch (error) {
      if (errorCodesOf(error).includes(lockTimeoutCode)) return 0
      throw error
    }
  }
}

const lockTimeoutCode = '55P03'

/** The first or last event of a partition, in the order of ids. */
async function findEdge(tx: Transaction, { first, before }: Partition, direction: 'ASC' | 'DESC') {
  const [edge] = await tx.query(
    sql`SELECT created_at FROM events WHERE id >= ${first} AND id < ${before} ORDER BY id ${Prisma.raw(direction)} LIMIT 1`,
    { createdAt: timestamptz },
  )
  return edge
}

/**
 * Drops the oldest partition, unless some of its events cannot be read yet. Notes their last place first: a reader that has not
 * read up to there has missed events.
 */
async function drop(tx: Transaction, { first, before }: Partition): Promise<boolean> {
  const [last] = await tx.query(
    sql`SELECT xid::text, id, xid < pg_snapshot_xmin(pg_current_snapshot()) AS is_readable FROM events
      WHERE id >= ${first} AND id < ${before} ORDER BY events.xid DESC, id DESC LIMIT 1`,
    { xid: text, id: int8, isReadable: bool },
  )
  if (last && !last.isReadable) return false
  if (last)
    await tx.execute(sql`UPDATE outbox SET purged_xid = ${last.xid}::xid8, purged_id = ${last.id}
      WHERE (purged_xid, purged_id) < (${last.xid}::xid8, ${last.id}::bigint)`)
  await dropOldestPartition(tx)
  return true
}
