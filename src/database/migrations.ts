// Migrates a database to the schema of prisma/migrations, and records it as Prisma does: `prisma migrate deploy` on the
// same folder does the same.

import { createHash, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { errorCodesOf } from './failure-codes.ts'
import { migrationNames, migrationsFolder, refuseNewerVersion, refuseOlderSessions } from './history/versions.ts'
import { explainMigrationError } from './roles/check.ts'
import { grantPrivileges } from './roles/grants.ts'

export type Migration = { name: string; script: string }

/** All migrations of this version, oldest first. */
export async function readMigrations(): Promise<Migration[]> {
  return await Promise.all(
    migrationNames.map(async name => {
      return { name, script: await readFile(new URL(`${name}/migration.sql`, migrationsFolder), 'utf8') }
    }),
  )
}

/**
 * Names of the migrations that the database lacks. Throws if it has migrations of a version that is too new for this one, or
 * one that was begun and not finished.
 */
export async function pendingMigrations(client: pg.ClientBase | pg.Pool): Promise<string[]> {
  return (await compareMigrations(client)).pending
}

/** Throws unless the database has every migration of this version, or this role may not see them. */
export async function refuseUnmigrated(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { length } = await pendingMigrations(client)
    if (length > 0) throw unmigratedError(length)
  } catch (error) {
    if (!errorCodesOf(error).includes('42501')) throw error
  } finally {
    await client.end()
  }
}

function unmigratedError(pending: number): Error {
  const lacked = pending === migrationNames.length ? "Berth's tables" : `migrations of this version (${pending})`
  return new Error(
    `The database lacks ${lacked}. If it is the one that you mean, start a gateway of this version, or run "database migrate".`,
  )
}

/** Names of the migrations of a newer version, beside which this one may run. */
export async function newerMigrations(client: pg.ClientBase | pg.Pool): Promise<string[]> {
  return (await compareMigrations(client)).newer
}

async function compareMigrations(client: pg.ClientBase | pg.Pool): Promise<{ pending: string[]; newer: string[] }> {
  const recorded = await readRecorded(client).catch((error: { code?: string }) => {
    if (error.code === '42P01') return []
    throw error
  })
  const applied = recorded.filter(({ isFinished }) => isFinished).map(({ name }) => name)
  const pending = migrationNames.filter(name => !applied.includes(name))
  const newer = applied.filter(name => !migrationNames.includes(name)).sort()
  if (newer.length > 0) await refuseNewerVersion(client, { newer, pending })
  refuseUnfinished(recorded)
  return { pending, newer }
}

/** Names of the applied migrations whose scripts were another text then. Prisma ignores them, too, where it deploys. */
export async function editedMigrations(client: pg.ClientBase | pg.Pool): Promise<string[]> {
  const migrations = await readMigrations()
  const recorded = await readRecorded(client)
  return recorded.flatMap(({ name, checksum }) => {
    const migration = migrations.find(other => other.name === name)
    return migration && checksumOf(migration) !== checksum ? [name] : []
  })
}

/**
 * Applies the missing migrations, as the owner of the tables, grants the roles what they need, and returns the names of the
 * migrations. The caller must hold the migration lock. `check` runs before any row or table is written, and may throw to
 * refuse. It reads as the gateway's role, so that role needs its privileges before.
 */
export async function migrate(ownerUrl: string, check = async () => {}): Promise<string[]> {
  const client = new pg.Client({ connectionString: ownerUrl })
  await client.connect()
  try {
    const { pending, newer } = await compareMigrations(client)
    // What the newer version granted is what both need.
    if (newer.length === 0) await grantPrivileges(client)
    await check()
    const migrations = await readMigrations()
    const missing = migrations.filter(({ name }) => pending.includes(name))
    const applied = await applyMigrations(client, missing)
    if (missing.length > 0) await grantPrivileges(client)
    return applied
  } catch (error) {
    throw explainMigrationError(error)
  } finally {
    await client.end()
  }
}

/**
 * Applies migrations, each in a transaction with its record: a crash leaves none half applied. Returns their names, without
 * those that another gateway applied meanwhile: it may hold the migration lock if this one has lost it.
 */
export async function applyMigrations(client: pg.ClientBase, migrations: readonly Migration[]): Promise<string[]> {
  if (migrations.length === 0) return []
  // Two statements of one query are one transaction.
  await client.query(`${lockSql}; ${createTableSql}`)
  const applied: string[] = []
  for (const migration of migrations) if (await applyMigration(client, migration)) applied.push(migration.name)
  return applied
}

/** Applies a migration, or returns false if it is applied already. */
async function applyMigration(client: pg.ClientBase, { name, script }: Migration): Promise<boolean> {
  try {
    await client.query('BEGIN')
    await client.query(lockSql)
    const recorded = await readRecorded(client)
    refuseUnfinished(recorded)
    const isMissing = recorded.every(other => other.name !== name)
    if (isMissing) await runMigration(client, { name, script })
    await client.query('COMMIT')
    return isMissing
  } catch (error) {
    // If the connection is lost, the server rolls back.
    await client.query('ROLLBACK').catch(() => {})
    throw new Error(`The migration ${name} failed: ${(error as Error).message}`, { cause: error })
  }
}

/** Applies migrations, which the database lacks, in the transaction of the caller: all of them or none. */
export async function applyInTransaction(client: pg.ClientBase, migrations: readonly Migration[]): Promise<void> {
  await client.query(`${lockSql}; ${createTableSql}`)
  for (const migration of migrations) await runMigration(client, migration)
}

async function runMigration(client: pg.ClientBase, { name, script }: Migration): Promise<void> {
  await client.query(script)
  if (script.includes('oldest_version')) await refuseOlderSessions(client)
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
      VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
    [randomUUID(), checksumOf({ script }), name],
  )
}

function checksumOf({ script }: Pick<Migration, 'script'>): string {
  return createHash('sha256').update(script).digest('hex')
}

type RecordedMigration = { name: string; checksum: string; isFinished: boolean }

/** The migrations that the database has, or that were begun there. */
async function readRecorded(client: pg.ClientBase | pg.Pool): Promise<RecordedMigration[]> {
  const { rows } = await client.query<RecordedMigration>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS "isFinished"
      FROM _prisma_migrations WHERE rolled_back_at IS NULL`,
  )
  return rows
}

/** A migration that another tool began and did not finish may have left a part of its changes. */
function refuseUnfinished(recorded: readonly RecordedMigration[]): void {
  const unfinished = recorded.find(({ isFinished }) => !isFinished)
  if (!unfinished) return
  const resolve = 'finish it by hand and record that with `npx prisma migrate resolve`'
  throw new Error(
    `The migration ${unfinished.name} was begun and not finished. Undo it, or ${resolve}; then start again.`,
  )
}

/** Prisma's engine holds the same lock while it migrates. */
export const migrationLock = 72_707_369
/** Held until the transaction ends, so a pooler of transactions keeps it. */
const lockSql = `SELECT pg_advisory_xact_lock(${migrationLock})`

/** The table as Prisma makes it. */
const createTableSql = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id varchar(36) PRIMARY KEY NOT NULL,
  checksum varchar(64) NOT NULL,
  finished_at timestamptz,
  migration_name varchar(255) NOT NULL,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(),
  applied_steps_count integer NOT NULL DEFAULT 0
)`
