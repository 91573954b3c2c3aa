// Migrates a database to the schema of prisma/migrations. Prisma's own engine applies the migrations and keeps the
// usual _prisma_migrations table, so `prisma migrate deploy` on the same folder does the same.

import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { MigrationList } from '@prisma/schema-engine-wasm'
import pg from 'pg'
import { withSchemaEngine } from './schema-engine.ts'

const migrationsFolder = new URL('../../prisma/migrations/', import.meta.url)
export const noFilters = { externalTables: [], externalEnums: [] }

export async function readMigrations(): Promise<MigrationList> {
  const names = (await readdir(migrationsFolder, { withFileTypes: true }))
    .filter(entry => entry.isDirectory())
    .map(({ name }) => name)
  return {
    baseDir: fileURLToPath(migrationsFolder),
    lockfile: {
      path: 'migration_lock.toml',
      content: await readFile(new URL('migration_lock.toml', migrationsFolder), 'utf8'),
    },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(
      names.sort().map(async path => {
        const value = await readFile(new URL(`${path}/migration.sql`, migrationsFolder), 'utf8')
        return { path, migrationFile: { path: 'migration.sql', content: { tag: 'ok', value } } }
      }),
    ),
  }
}

/** Names of the migrations that the database lacks. Throws if the database has migrations that this version lacks. */
export async function pendingMigrations(client: pg.ClientBase | pg.Pool): Promise<string[]> {
  const { migrationDirectories } = await readMigrations()
  const known = migrationDirectories.map(({ path }) => path)
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
 * Applies the missing migrations. The caller must hold the migration lock: the engine takes none. `check` runs before
 * any write, and may throw to refuse.
 */
export async function migrate(url: string, check = async () => {}): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const pending = await pendingMigrations(client).finally(() => client.end())
  await check()
  // Loading the engine is the slowest part of a start, so it is skipped if no migration is pending.
  if (pending.length === 0) return []
  const migrationsList = await readMigrations()
  const applied = await withSchemaEngine(url, engine => engine.applyMigrations({ migrationsList, filters: noFilters }))
  return applied.appliedMigrationNames
}
