// The partitions of events and webhook deliveries. Each has the same range of event ids in both tables. To begin a
// partition, the sequence of ids jumps to its first id. So a partition has the events of some time, and ids have gaps.

import { Prisma } from '../../database/generated/client.ts'
import { int8, text } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'

const { sql, raw } = Prisma

/** The ids of a partition: far more than events are written before the next one begins. */
export const partitionSize = 1_000_000_000n

/** A partition: what its name has after the table's, its first id, and the first id after it. */
export type Partition = { suffix: string; first: bigint; before: bigint }

const boundSql = (word: 'FROM' | 'TO') =>
  sql`(regexp_match(pg_get_expr(c.relpartbound, c.oid), ${`${word} \\('(\\d+)'\\)`}))[1]::bigint`

/** The partitions, oldest first. */
export async function listPartitions(tx: Transaction): Promise<Partition[]> {
  return await tx.query(
    sql`
    SELECT substr(c.relname, length('events') + 1) AS suffix, ${boundSql('FROM')} AS first, ${boundSql('TO')} AS before
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass ORDER BY first`,
    { suffix: text, first: int8, before: int8 },
  )
}

/** The id that the last event got. Partitions that end before it get no more events, except from open transactions. */
export async function readLastId(tx: Transaction): Promise<bigint> {
  const [row] = await tx.query(sql`SELECT last_value AS id FROM events_id_seq`, { id: int8 })
  return row?.id as bigint
}

/**
 * Adds a partition for the ids from `first` on, and takes the next id from it. Waits for transactions that have written events,
 * and stops those that want to: a statement that has begun would find no partition for its new id.
 */
export async function beginPartition(tx: Transaction, first: bigint): Promise<void> {
  await tx.execute(sql`LOCK TABLE webhooks, events IN SHARE ROW EXCLUSIVE MODE`)
  for (const table of ['events', 'webhook_deliveries']) {
    const part = `${table}_from_${first}`
    await tx.execute(raw(`CREATE TABLE ${part} (LIKE ${table} INCLUDING ALL)`))
    const range = `FROM (${first}) TO (${first + partitionSize})`
    await tx.execute(raw(`ALTER TABLE ${table} ATTACH PARTITION ${part} FOR VALUES ${range}`))
  }
  await tx.execute(sql`SELECT setval('events_id_seq', ${first}, false)`)
}

/** Drops a partition with its deliveries. Waits for its readers, and stops all others meanwhile. */
export async function dropPartition(tx: Transaction, { suffix }: Partition): Promise<void> {
  await tx.execute(raw(`DROP TABLE webhook_deliveries${suffix}, events${suffix}`))
}
