import type pg from 'pg'
import { errorCodesOf, toError } from '../failure-codes.ts'
import { listedGrants } from './grants.ts'
import { appRole } from './privileges.ts'

/** More would hide the advice behind them. */
const shownPrivileges = 3

/** Throws if the role of this connection lacks a privilege that gateways and commands need. */
export async function checkPrivileges(client: pg.Pool | pg.ClientBase): Promise<void> {
  const needed = listedGrants.flatMap(({ role, object, privilege }) => {
    const [kind, name] = object.split(' ')
    return role === appRole ? [{ kind, name, privilege }] : []
  })
  const { rows } = await client.query<{ role: string; lacked: string }>(lackedSql, [JSON.stringify(needed)])
  const [first] = rows
  if (!first) return
  const lacked = rows.map(row => row.lacked)
  const more = lacked.length > shownPrivileges ? ` and ${lacked.length - shownPrivileges} more` : ''
  throw new Error(
    `The role ${first.role} lacks privileges in the database: ${lacked.slice(0, shownPrivileges).join(', ')}${more}. ${advice}`,
  )
}

const advice = `Set DATABASE_OWNER_URL to the URL of the role that owns the tables, or run "database migrate" as that role: it grants ${appRole} what it needs. A role with another name must be a member of ${appRole}.`

const lackedSql = `
  SELECT current_user AS role, n.privilege || ' on ' || n.name AS lacked
  FROM json_to_recordset($1) AS n (kind text, name text, privilege text)
  WHERE NOT CASE kind WHEN 'FUNCTION' THEN has_function_privilege('public.' || n.name, privilege)
    ELSE has_table_privilege('public.' || n.name, privilege) END
  UNION ALL SELECT current_user, 'USAGE on ' || s.relname FROM pg_sequence q JOIN pg_class s ON s.oid = q.seqrelid
  WHERE s.relowner = (SELECT relowner FROM pg_class WHERE oid = 'public.outbox'::regclass)
  AND NOT has_sequence_privilege(q.seqrelid, 'USAGE')`

/** Explains a migration that failed because this role may not migrate. Returns any other error as it is. */
export function explainMigrationError(error: unknown): Error {
  if (!errorCodesOf(error).includes('42501')) return toError(error)
  return new Error(`The role of the database URL may not migrate the database: ${toError(error).message}. ${advice}`, {
    cause: error,
  })
}
