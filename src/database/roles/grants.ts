// Grants the roles what they need, as the owner of the tables: after each migration, so that no new table is forgotten.

import type pg from 'pg'
import { appFunctions, appRole, appTables, metricsColumns, metricsRole } from './privileges.ts'

/** A privilege on an object, in the words of GRANT. */
export type Grant = { role: string; object: string; privilege: string }

/** Every grant but those on sequences, whose names the database knows. */
export const listedGrants: readonly Grant[] = [
  ...appTables.flatMap(({ privileges, tables }) =>
    tables.flatMap(name => privileges.map(privilege => ({ role: appRole, object: `TABLE ${name}`, privilege }))),
  ),
  ...appFunctions.map(name => ({ role: appRole, object: `FUNCTION ${name}`, privilege: 'EXECUTE' })),
  ...Object.entries(metricsColumns).flatMap(([name, columns]) =>
    columns.map(column => ({ role: metricsRole, object: `TABLE ${name}`, privilege: `SELECT (${column})` })),
  ),
]

/**
 * Gives the roles exactly what they need of the listed objects that exist. Changes nothing where this role does not own them,
 * where the roles do not exist, and where nothing is missing.
 */
export async function grantPrivileges(client: pg.ClientBase): Promise<void> {
  const roles = (await client.query<{ name: string }>(rolesSql, [[appRole, metricsRole]])).rows.map(({ name }) => name)
  if (roles.length === 0) return
  const objects = (await client.query<{ name: string }>(ownObjectsSql)).rows.map(({ name }) => name)
  // A database that is not migrated yet may lack a column.
  const hasColumn = (object: string, privilege: string) =>
    !privilege.includes('(') || objects.includes(privilege.replace('SELECT', object))
  const sequences = objects.filter(name => name.startsWith('SEQUENCE '))
  const wanted = [...listedGrants, ...sequences.flatMap(sequenceGrants)].filter(
    ({ role, object, privilege }) => roles.includes(role) && objects.includes(object) && hasColumn(object, privilege),
  )
  const { rows: granted } = await client.query<Grant>(grantsSql, [roles])
  const statements = wrongTargets(wanted, granted).flatMap(({ role, object }) => {
    const privileges = wanted.filter(grant => grant.role === role && grant.object === object)
    return [
      `REVOKE ALL ON ${object} FROM ${role}`,
      `GRANT ${privileges.map(({ privilege }) => privilege).join(', ')} ON ${object} TO ${role}`,
    ]
  })
  // Statements of one query are one transaction.
  if (statements.length > 0) await client.query(statements.join('; '))
}

function sequenceGrants(object: string): Grant[] {
  return ['USAGE', 'SELECT', 'UPDATE'].map(privilege => ({ role: appRole, object, privilege }))
}

/** The roles and objects that have other grants than wanted. Objects that nobody wants are left alone. */
function wrongTargets(wanted: readonly Grant[], granted: readonly Grant[]): Omit<Grant, 'privilege'>[] {
  const targetOf = ({ role, object }: Omit<Grant, 'privilege'>) => `${role} ${object}`
  const byTarget = (grants: readonly Grant[]) => Map.groupBy(grants, targetOf)
  const listOf = (grants: readonly Grant[] = []) =>
    grants
      .map(({ privilege }) => privilege)
      .toSorted()
      .join()
  const present = byTarget(granted)
  return [...byTarget(wanted)].flatMap(([target, grants]) => {
    const [first] = grants
    return first && listOf(grants) !== listOf(present.get(target)) ? [first] : []
  })
}

/** Not a role that owns what this role owns: to revoke its grants would take its own rights away. */
const rolesSql = `
  SELECT rolname AS name FROM pg_roles WHERE rolname = ANY ($1)
  AND NOT pg_has_role(oid, (SELECT oid FROM pg_roles WHERE rolname = current_user), 'MEMBER')`

/** The objects of the schema. `acl` is null before the first GRANT. */
const objectsSql = `
  SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || relname AS name, relowner AS owner, relacl AS acl, oid AS relation
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S')
  UNION ALL SELECT 'FUNCTION ' || oid::regprocedure, proowner, proacl, NULL
  FROM pg_proc WHERE pronamespace = 'public'::regnamespace`

/** Also each column, as `TABLE name (column)`. */
const ownObjectsSql = `
  WITH own AS (SELECT * FROM (${objectsSql}) o WHERE pg_has_role(owner, 'USAGE'))
  SELECT name FROM own UNION ALL SELECT format('%s (%s)', own.name, c.attname)
  FROM own JOIN pg_attribute c ON c.attrelid = own.relation AND c.attnum > 0 AND NOT c.attisdropped
  WHERE own.name LIKE 'TABLE %'`

/** What the roles were granted on the schema's objects and their columns. */
export const grantsSql = `
  SELECT r.rolname AS role, o.name AS object, a.privilege_type AS privilege
  FROM (${objectsSql}) o, aclexplode(o.acl) a JOIN pg_roles r ON r.oid = a.grantee AND r.rolname = ANY ($1)
  UNION ALL SELECT r.rolname, o.name, format('%s (%s)', a.privilege_type, c.attname)
  FROM (${objectsSql}) o JOIN pg_attribute c ON c.attrelid = o.relation, aclexplode(c.attacl) a
  JOIN pg_roles r ON r.oid = a.grantee AND r.rolname = ANY ($1)`
