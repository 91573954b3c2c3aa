// Restores a backup: all of it in one transaction, so a crash at any point leaves the database as it was.

import type pg from 'pg'
import { readHistoryLine } from '../history/line.ts'
import { beginLine } from '../history/new-line.ts'
import { locks } from '../locks.ts'
import { applyInTransaction, readMigrations } from '../migrations.ts'
import { explainMigrationError } from '../roles/check.ts'
import { grantPrivileges } from '../roles/grants.ts'
import type { BackupFile } from './file.ts'
import { loadTables } from './load.ts'
import { withSession } from './session.ts'
import { checkContents, dropContents, refuseUsers } from './target.ts'

export type RestoredBackup = { takenAt: string; tables: number; rows: number; migrations: string[]; epoch: number }

/**
 * `url` is that of the role that owns the tables. Gateways that start meanwhile wait. They go on along a new line of history:
 * cursors have expired, and all instances are looked at anew. Those that are being stopped get `patienceMs` to leave.
 */
export async function restoreBackup(
  url: string,
  backup: BackupFile,
  { replace, patienceMs = 3_000 }: { replace: boolean; patienceMs?: number },
): Promise<RestoredBackup> {
  const { takenAt, migrations: had, tables } = backup.header
  const migrations = await readMigrations()
  const later = laterMigrations(backup, migrations)
  return await withSession(url, 'berth restore', async client => {
    await client.query('SELECT pg_advisory_lock($1)', [locks.migration])
    await refuseUsers(client, patienceMs)
    const epochBefore = await checkContents(client, { replace, takenAt })
    const { name } = await readHistoryLine(client)
    await client.query('BEGIN')
    await dropContents(client)
    await applyInTransaction(
      client,
      migrations.filter(migration => had.includes(migration.name)),
    )
    const rows = await loadTables(client, backup)
    await applyInTransaction(client, later)
    const { epoch } = await beginRestoredLine(client, { name, epochBefore, takenAt })
    await grantPrivileges(client)
    await client.query(analyzeSql)
    await client.query('COMMIT')
    return { takenAt, tables: tables.length, rows, migrations: later.map(migration => migration.name), epoch }
  }).catch(error => {
    throw explainMigrationError(error)
  })
}

/** The migrations that a restore adds. Throws if this version cannot restore the backup. */
export function laterMigrations<Known extends { name: string }>(
  { header: { migrations: had } }: Pick<BackupFile, 'header'>,
  migrations: readonly Known[],
): Known[] {
  const unknown = had.filter(name => !migrations.some(known => known.name === name)).at(-1)
  if (unknown === undefined) return migrations.filter(({ name }) => !had.includes(name))
  throw new Error(
    `A newer version of Berth made the backup: this version does not know its migration ${unknown}. Restore it with that version.`,
  )
}

type RestoredLine = { name: string; epochBefore: number; takenAt: string }

/** The cursors of the database that was replaced expire, too. */
async function beginRestoredLine(client: pg.ClientBase, { name, epochBefore, takenAt }: RestoredLine) {
  await client.query(`UPDATE outbox SET cluster = $1, epoch = GREATEST(epoch, $2), purged_xid = '0', purged_id = 0`, [
    name,
    epochBefore,
  ])
  return await beginLine(client, { name, witnessed: false, restoredUntil: new Date(takenAt) })
}

/** Statistics of the tables that have rows themselves, as autovacuum makes them. */
const analyzeSql = `
  DO $$
  DECLARE
    statement text;
  BEGIN
    FOR statement IN SELECT format('ANALYZE %s', oid::regclass) FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
    LOOP
      EXECUTE statement;
    END LOOP;
  END $$`
