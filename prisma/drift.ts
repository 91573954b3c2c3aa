import { readFile } from 'node:fs/promises'
import { readMigrationList, withSchemaEngine } from './schema-engine.ts'

/**
 * The SQL that takes the migrations to schema.prisma; undefined if they agree. Needs an empty database. Ignores partial
 * indexes, INCLUDE and CHECK, because the schema language does not have them: only the migrations do.
 */
export async function findSchemaDrift(emptyDatabaseUrl: string): Promise<string | undefined> {
  const path = 'schema.prisma'
  const schema = { path, content: await readFile(new URL(path, import.meta.url), 'utf8') }
  const migrations = await readMigrationList()
  const { stdout } = await withSchemaEngine(emptyDatabaseUrl, engine =>
    engine.diff({
      from: { tag: 'migrations', ...migrations },
      to: { tag: 'schemaDatamodel', files: [schema] },
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    }),
  )
  return stdout?.trim() === '-- This is an empty migration.' ? undefined : (stdout ?? undefined)
}
