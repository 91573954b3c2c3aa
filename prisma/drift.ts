import { readFile } from 'node:fs/promises'
import { noFilters, readMigrations } from '../src/database/migrations.ts'
import { withSchemaEngine } from '../src/database/schema-engine.ts'

/**
 * What the migrations lack to arrive at schema.prisma, as SQL; undefined when they agree. It uses an empty database.
 * Partial indexes, INCLUDE and CHECK are unknown to the schema language and are passed over: they stand in the
 * migrations alone.
 */
export async function findSchemaDrift(emptyDatabaseUrl: string): Promise<string | undefined> {
  const path = 'schema.prisma'
  const schema = { path, content: await readFile(new URL(path, import.meta.url), 'utf8') }
  const migrations = await readMigrations()
  const { stdout } = await withSchemaEngine(emptyDatabaseUrl, engine =>
    engine.diff({
      from: { tag: 'migrations', ...migrations },
      to: { tag: 'schemaDatamodel', files: [schema] },
      script: true,
      exitCode: null,
      filters: noFilters,
    }),
  )
  return stdout?.trim() === '-- This is an empty migration.' ? undefined : (stdout ?? undefined)
}
