import { noFilters, readMigrations } from '../../../src/database/migrations.ts'
import { withSchemaEngine } from '../../../src/database/schema-engine.ts'

/** Applies the migrations before `end`, so that a test can insert rows as they were then. */
export async function migrateUntil(url: string, end: string): Promise<void> {
  const all = await readMigrations()
  const migrationDirectories = all.migrationDirectories.filter(({ path }) => path < end)
  const migrationsList = { ...all, migrationDirectories }
  await withSchemaEngine(url, engine => engine.applyMigrations({ migrationsList, filters: noFilters }))
}
