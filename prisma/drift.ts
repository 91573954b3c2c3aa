import { readFile } from 'node:fs/promises'
import { readMigrationList, withSchemaEngine } from './schema-engine.ts'

/** The relations without a foreign key, which the schema language cannot say: the rows are in partitions that are dropped. */
const relationsWithoutKey = ['webhook_deliveries_event_id_fkey']

/**
 * The SQL that takes the migrations to schema.prisma; undefined if they agree. Needs an empty database. Ignores partial
 * indexes, INCLUDE, CHECK and partitions, because the schema language does not have them: only the migrations do.
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
  const isIgnored = (statement: string) => relationsWithoutKey.some(name => statement.includes(`"${name}"`))
  const statements = (stdout ?? '').split(/\n(?=-- )/).filter(statement => !isIgnored(statement))
  const drift = statements.join('\n')
  return drift.trim() === '' || drift.trim() === '-- This is an empty migration.' ? undefined : drift
}
