import pg from 'pg'
import { applyMigrations, pendingMigrations, readMigrations } from '../../../src/database/migrations.ts'
import { grantPrivileges } from '../../../src/database/roles/grants.ts'

/** Applies the missing migrations before `end`, so that a test can insert rows as they were then. */
export async function migrateUntil(url: string, end: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const pending = await pendingMigrations(client)
  const migrations = (await readMigrations()).filter(({ name }) => pending.includes(name) && name < end)
  await applyMigrations(client, migrations)
    .then(() => grantPrivileges(client))
    .finally(() => client.end())
}

/** What a script has that ends the transaction in which it runs, or cannot run in one. */
export function outsideTransaction(script: string): string[] {
  const statements = script.replaceAll(/--.*|\/\*[\s\S]*?\*\/|'[^']*'|(\$\w*\$)[\s\S]*?\1/g, '').split(';')
  return statements.flatMap(statement => {
    const [found] =
      /^\s*(BEGIN|START TRANSACTION|COMMIT|END|ROLLBACK|ABORT|PREPARE TRANSACTION|VACUUM)\b|\bCONCURRENTLY\b/i.exec(
        statement,
      ) ?? []
    return found === undefined ? [] : [found.trim()]
  })
}
