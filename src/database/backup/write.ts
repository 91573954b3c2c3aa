// Backs up a database while gateways work on it. PostgreSQL's own programs for that do not come along with it.

import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { migrationLock } from '../migrations.ts'
import { writeBackupFile } from './file.ts'
import { framesOf } from './frames.ts'
import { describeContents, listTables, type Table } from './header.ts'
import { withSession } from './session.ts'

export type WrittenBackup = { file: string; takenAt: string; bytes: number; tables: number; rows: number }

/**
 * Writes all tables as they are at one instant. Readers and writers go on meanwhile. Migrations wait, and so does the removal
 * of old events and samples.
 */
export async function writeBackup(url: string, file: string): Promise<WrittenBackup> {
  return await withSession(url, 'berth backup', async client => {
    await client.query('SELECT pg_advisory_lock_shared($1)', [migrationLock])
    const tables = await listTables(client)
    if (tables.length === 0) throw new Error('The database has no tables of Berth, so there is nothing to back up.')
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    // Takes no snapshot yet: a table that is dropped afterwards would be missing.
    await client.query(`LOCK TABLE ${tables.map(nameOf).join(', ')} IN ACCESS SHARE MODE`)
    const header = await describeContents(client, tables)
    const counts = { rows: 0 }
    const bytes = await writeBackupFile(file, header, rowsOf(client, tables, counts))
    return { file, takenAt: header.takenAt, bytes, tables: tables.length, rows: counts.rows }
  })
}

async function* rowsOf(client: pg.ClientBase, tables: Table[], counts: { rows: number }): AsyncGenerator<Buffer> {
  for (const table of tables) {
    const columns = table.columns.map(column => pg.escapeIdentifier(column))
    const rows = client.query(copyTo(`COPY (SELECT ${columns.join(', ')} FROM ${nameOf(table)}) TO STDOUT`))
    // The reader of the stream gets its error. Without a reader, the error would end the process.
    rows.on('error', () => {})
    yield* framesOf(rows)
    counts.rows += rows.rowCount
  }
}

function nameOf({ name }: Pick<Table, 'name'>): string {
  return `public.${pg.escapeIdentifier(name)}`
}
