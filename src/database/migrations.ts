// Migrates a database to the schema of prisma/migrations, and records it as Prisma does: `prisma migrate deploy` on the
// same folder does the same.

import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'

export type Migration = { name: string; script: string }

export const migrationsFolder = new URL('../../prisma/migrations/', import.meta.url)

/** All migrations of this version, oldest first. */
export async function readMigrations(): Promise<Migration[]> {
  const entries = await readdir(migrationsFolder, { withFileTypes: true })
  const names = entries.filter(entry => entry.isDirectory()).map(({ name }) => name)
  return await Promise.all(
    names.sort().map(async name => {
      return { name, script: await readFile(new URL(`${name}/migration.sql`, migrationsFolder), 'utf8') }
    }),
  )
}

/** Names of the migrations that the database lacks. Throws if the database has migrations that this version lacks. */
export async function pendingMigrations(client: pg.ClientBase | pg.Pool): Promise<string[]> {
  const known = (await readMigrations()).map(({ name }) => name)
  const applied = await client
    .query(
      'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
    )
    .catch((error: { code?: string }) => {
      if (error.code === '42P01') return { rows: [] }
      throw error
    })
  const names: string[] = applied.rows.map(({ name }) => name)
  const newest = names
    .filter(name => !known.includes(name))
    .sort()
    .at(-1)
  if (newest !== undefined) throw new Error(newerSchemaMessage(newest))
  return known.filter(name => !names.includes(name))
}

function newerSchemaMessage(newest: string): string {
  return `A newer version of Berth migrated the database: this version does not know its migration ${newest}. Upgrade Berth here.`
}

/**
 * Applies the missing migrations and returns their names. The caller must hold the migration lock. `check` runs before any
 * write, and may throw to refuse.
 */
export async function migrate(url: string, check = async () => {}): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const pending = await pendingMigrations(client)
    await check()
    const migrations = await readMigrations()
    await applyMigrations(
      client,
      migrations.filter(({ name }) => pending.includes(name)),
    )
    return pending
  } finally {
    await client.end()
  }
}

/** Applies migrations, each in a transaction with its record: a crash leaves none half applied. */
export async function applyMigrations(client: pg.ClientBase, migrations: readonly Migration[]): Promise<void> {
  if (migrations.length === 0) return
  await client.query(createTableSql)
  await refuseUnfinished(client)
  for (const { name, script } of migrations) {
    try {
      await client.query('BEGIN')
      await client.query(script)
      await client.query(
        `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
          VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
        [randomUUID(), createHash('sha256').update(script).digest('hex'), name],
      )
      await client.query('COMMIT')
    } catch (error) {
      throw new Error(`The migration ${name} failed: ${(error as Error).message}`, { cause: error })
    }
  }
}

/** A migration that another tool began and did not finish may have left a part of its changes. */
async function refuseUnfinished(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NULL AND rolled_back_at IS NULL',
  )
  if (!rows[0]) return
  const resolve = 'finish it by hand and record that with `npx prisma migrate resolve`'
  throw new Error(`The migration ${rows[0].name} was begun and not finished. Undo it, or ${resolve}; then start again.`)
}

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
