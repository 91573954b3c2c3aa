import type pg from 'pg'
import { toError } from '../../database/failure-codes.ts'
import { editedMigrations, newerMigrations, pendingMigrations } from '../../database/migrations.ts'
import { checkPrivileges } from '../../database/roles/check.ts'
import { metricsColumns } from '../../database/roles/privileges.ts'
import type { RolesFacts, SchemaFacts } from '../verdicts/schema.ts'

/** `owner`: a connection with the role that migrates. */
export async function gatherSchema(owner: pg.Client): Promise<SchemaFacts> {
  const mayMigrate = await readFlag(
    owner,
    `SELECT coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('public.outbox')),
      has_schema_privilege('public', 'CREATE')) AS flag`,
  )
  try {
    const pending = await pendingMigrations(owner)
    const hasTables = await readFlag(owner, "SELECT to_regclass('public._prisma_migrations') IS NOT NULL AS flag")
    const newer = await newerMigrations(owner)
    return { problem: undefined, pending, newer, edited: hasTables ? await editedMigrations(owner) : [], mayMigrate }
  } catch (error) {
    return { problem: toError(error).message, pending: [], newer: [], edited: [], mayMigrate }
  }
}

/** For a database that has all tables. */
export async function gatherRoles(app: pg.Client, metrics: pg.Client): Promise<RolesFacts> {
  const { rows } = await app.query<{ role: string; ownsTables: boolean }>(
    `SELECT current_user AS role, pg_has_role(relowner, 'USAGE') AS "ownsTables"
      FROM pg_class WHERE oid = 'public.outbox'::regclass`,
  )
  const { role = '', ownsTables = false } = rows[0] ?? {}
  const problem = await checkPrivileges(app).then(
    () => undefined,
    (error: unknown) => toError(error).message,
  )
  return { role, ownsTables, problem, unreadable: await findUnreadable(metrics) }
}

async function findUnreadable(metrics: pg.Client): Promise<string[]> {
  const columns = Object.entries(metricsColumns).flatMap(([table, names]) => names.map(name => ({ table, name })))
  const { rows } = await metrics.query<{ column: string }>(
    `SELECT c."table" || '.' || c.name AS column FROM json_to_recordset($1) AS c ("table" text, name text)
      WHERE NOT has_column_privilege('public.' || c."table", c.name, 'SELECT')`,
    [JSON.stringify(columns)],
  )
  return rows.map(({ column }) => column)
}

async function readFlag(client: pg.Client, sql: string): Promise<boolean> {
  const { rows } = await client.query<{ flag: boolean }>(sql)
  return rows[0]?.flag === true
}
