// The partitions of events and webhook deliveries. Each has the same range of event ids in both tables. To begin a
// partition, the sequence of ids jumps to its first id. So a partition has the events of some time, and ids have gaps.
// A gateway's role owns no table, so functions of the database begin and drop them.

import { Prisma } from '../../database/generated/client.ts'
import { int8 } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'

const { sql } = Prisma

/** The ids of a partition: far more than events are written before the next one begins. The database begins them. */
export const partitionSize = 1_000_000_000n

/** A partition: its first id, and the first id after it. */
export type Partition = { first: bigint; before: bigint }

const boundSql = (word: 'FROM' | 'TO') =>
  sql`(regexp_match(pg_get_expr(c.relpartbound, c.oid), ${`${word} \\('(\\d+)'\\)`}))[1]::bigint`

/** The partitions, oldest first. */
export async function listPartitions(tx: Transaction): Promise<Partition[]> {
  return await tx.query(
    sql`
    SELECT ${boundSql('FROM')} AS first, ${boundSql('TO')} AS before
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass ORDER BY first`,
    { first: int8, before: int8 },
  )
}

/** The id that the last event got. Partitions that end before it get no more events, except from open transactions. */
export async function readLastId(tx: Transaction): Promise<bigint> {
  const [row] = await tx.query(sql`SELECT last_value AS id FROM events_id_seq`, { id: int8 })
  return row?.id as bigint
}

/**
 * Adds a partition for the ids after the last one, and takes the next id from it. Waits for transactions that have written
 * events, and stops those that want to.
 */
export async function beginPartition(tx: Transaction): Promise<void> {
  await tx.execute(sql`SELECT begin_event_partition()`)
}

/** Drops the oldest partition with its deliveries. Waits for its readers, and stops all others meanwhile. */
export async function dropOldestPartition(tx: Transaction): Promise<void> {
  await tx.execute(sql`SELECT drop_event_partition()`)
}
