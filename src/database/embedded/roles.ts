// The roles of the embedded server. Its superuser only sets them up, once: then the owner migrates, and gateways and commands
// use the app's role.

import { createHmac } from 'node:crypto'
import pg from 'pg'
import { appRole, metricsRole } from '../roles/privileges.ts'

export const superuser = 'berth'
export const ownerRole = 'berth_owner'
export const databaseName = 'berth'

/** The password of the server's superuser. */
type Server = { password: string }
type Login = { role: string; database: string; port: number }

export function urlOf(server: Server, { role, database, port }: Login): string {
  return `postgresql://${role}:${passwordOf(server, role)}@127.0.0.1:${port}/${database}`
}

/** The passwords of the roles follow from the superuser's, and tell nothing of it or of each other. */
function passwordOf({ password }: Server, role: string): string {
  return role === superuser ? password : createHmac('sha256', password).update(role).digest('base64url')
}

/**
 * Sets up the database and its roles, as the superuser: in a new server, and in one of a version that used the superuser for
 * everything. Any number of processes may try at once. All or nothing, so a login of the owner shows that it is done.
 */
export async function setUpRoles(server: Server, port: number): Promise<void> {
  await asSuperuser(server, port, 'postgres', async client => {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [databaseName])
    if (rowCount) return
    await client.query(`CREATE DATABASE ${databaseName}`).catch((error: { code?: string }) => {
      // Another process created it meanwhile.
      if (error.code !== '42P04' && error.code !== '23505') throw error
    })
  })
  await asSuperuser(server, port, databaseName, client => client.query(setUpSql(server)))
}

async function asSuperuser(
  server: Server,
  port: number,
  database: string,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const connectionString = urlOf(server, { role: superuser, database, port })
  const client = new pg.Client({ connectionString, application_name: 'berth roles', connectionTimeoutMillis: 2_000 })
  // A lost connection fails the running query. Without this listener, the error event would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    await work(client)
  } finally {
    client.end().catch(() => {})
  }
}

/** Statements of one query are one transaction. */
function setUpSql(server: Server): string {
  const logins = [ownerRole, appRole, metricsRole]
  return `
    SELECT pg_advisory_xact_lock(hashtext('berth roles'));
    ${logins.map(role => createRoleSql(role, passwordOf(server, role))).join('\n')}
    -- For the scratch database of a new migration.
    ALTER ROLE ${ownerRole} CREATEDB;
    -- /metrics reads how old the transactions of other roles are.
    GRANT pg_read_all_stats TO ${metricsRole};
    ALTER DATABASE ${databaseName} OWNER TO ${ownerRole};
    REVOKE ALL ON DATABASE ${databaseName} FROM PUBLIC;
    GRANT CONNECT ON DATABASE ${databaseName} TO ${appRole}, ${metricsRole};
    REVOKE ALL ON SCHEMA public FROM PUBLIC;
    GRANT USAGE ON SCHEMA public TO ${appRole}, ${metricsRole};
    ${giveAwaySql}`
}

function createRoleSql(role: string, password: string): string {
  return `
    DO $$ BEGIN IF to_regrole('${role}') IS NULL THEN CREATE ROLE ${role}; END IF; END $$;
    ALTER ROLE ${role} LOGIN PASSWORD '${password}';`
}

/** Gives the superuser's tables, sequences, functions and types to the owner. REASSIGN OWNED refuses the first superuser's. */
const giveAwaySql = `
  DO $$
  DECLARE
    statement text;
  BEGIN
    FOR statement IN
      -- Indexes, and sequences of columns, go with their tables.
      SELECT format('ALTER TABLE %s OWNER TO ${ownerRole}', oid::regclass) FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relowner = current_user::regrole AND relkind IN ('r', 'p')
      UNION ALL SELECT format('ALTER FUNCTION %s OWNER TO ${ownerRole}', oid::regprocedure) FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND proowner = current_user::regrole
      UNION ALL SELECT format('ALTER TYPE %s OWNER TO ${ownerRole}', oid::regtype) FROM pg_type
        WHERE typnamespace = 'public'::regnamespace AND typowner = current_user::regrole AND typtype = 'e'
    LOOP
      EXECUTE statement;
    END LOOP;
  END $$`
