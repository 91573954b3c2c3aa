// Puts the rows of a backup into tables that migrations have just made, in the transaction of the caller.

import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { addSealConstraint } from '../sealing/constraints.ts'
import type { BackupFile } from './file.ts'
import { createFrameReader } from './frames.ts'
import { type Partition, partitionsSql, type Table } from './header.ts'

/**
 * Returns how many rows there are. The triggers of Berth stand still, since the rows are as triggers made them. Foreign keys
 * are checked at the end, for all rows at once, so the order of the tables does not matter.
 */
export async function loadTables(client: pg.ClientBase, backup: BackupFile): Promise<number> {
  const { tables, partitions, sequences, sealed = [] } = backup.header
  await arrangePartitions(client, partitions)
  const keys = await dropForeignKeys(client)
  const names = tables.map(nameOf)
  for (const name of names) await client.query(`ALTER TABLE ${name} DISABLE TRIGGER USER`)
  // Migrations have filled some.
  await client.query(`TRUNCATE ${names.join(', ')}`)
  const reader = createFrameReader(backup.tables())
  let rows = 0
  for (const table of tables) {
    const columns = table.columns.map(column => pg.escapeIdentifier(column))
    const copy = client.query(copyFrom(`COPY ${nameOf(table)} (${columns.join(', ')}) FROM STDIN`))
    await pipeline(reader.readTable(), copy)
    rows += copy.rowCount
  }
  for (const name of names) await client.query(`ALTER TABLE ${name} ENABLE TRIGGER USER`)
  for (const { table, name, definition } of keys)
    await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${pg.escapeIdentifier(name)} ${definition}`)
  for (const constraint of sealed) await addSealConstraint(client, constraint)
  for (const { name, lastValue } of sequences)
    if (lastValue !== '0') await client.query('SELECT setval($1::regclass, $2)', [nameOf({ name }), lastValue])
  return rows
}

function nameOf({ name }: Pick<Table, 'name'>): string {
  return `public.${pg.escapeIdentifier(name)}`
}

/** What a partition may have: a range of ids, or numbers. */
const knownBounds = /^FOR VALUES (FROM \('\d+'\) TO \('\d+'\)|IN \([\d', ]+\))$/

/** Gives the tables the partitions of the backup: gateways begin and drop some as time goes on. */
async function arrangePartitions(client: pg.ClientBase, wanted: readonly Partition[]): Promise<void> {
  const { rows: present } = await client.query<Partition>(partitionsSql)
  const missing = (from: readonly Partition[], others: readonly Partition[]) =>
    from.filter(({ name, bounds }) => !others.some(other => other.name === name && other.bounds === bounds))
  for (const partition of missing(present, wanted)) await client.query(`DROP TABLE ${nameOf(partition)}`)
  for (const { table, name, bounds } of missing(wanted, present)) {
    if (!knownBounds.test(bounds)) throw new Error(`The backup has a partition ${name} with unknown bounds: ${bounds}.`)
    await client.query(`CREATE TABLE ${nameOf({ name })} PARTITION OF ${nameOf({ name: table })} ${bounds}`)
  }
}

type ForeignKey = { table: string; name: string; definition: string }

async function dropForeignKeys(client: pg.ClientBase): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `SELECT conrelid::regclass::text AS "table", conname AS name, pg_get_constraintdef(oid) AS definition
      FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND conparentid = 0`,
  )
  for (const { table, name } of rows)
    await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${pg.escapeIdentifier(name)}`)
  return rows
}
