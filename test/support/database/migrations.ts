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
  return statementsOf(script).flatMap(statement => {
    const [found] =
      /^\s*(BEGIN|START TRANSACTION|COMMIT|END|ROLLBACK|ABORT|PREPARE TRANSACTION|VACUUM)\b|\bCONCURRENTLY\b/i.exec(
        statement,
      ) ?? []
    return found === undefined ? [] : [found.trim()]
  })
}

/** What a script does that may fail the statements of a version which does not know it. */
export function takenAway(script: string): string[] {
  const taking =
    /\bDROP (TABLE|COLUMN|TYPE|FUNCTION|VIEW)\b|\bRENAME\b|\bSET NOT NULL\b|\bSET DATA TYPE\b|\bADD COLUMN (?![^,]*\bDEFAULT\b)[^,]*\bNOT NULL\b/gi
  return statementsOf(script).flatMap(statement => statement.match(taking) ?? [])
}

/** Without comments and quoted texts, such as the bodies of functions. */
function statementsOf(script: string): string[] {
  return script.replaceAll(/--.*|\/\*[\s\S]*?\*\/|'[^']*'|(\$\w*\$)[\s\S]*?\1/g, '').split(';')
}
