// After a change of the secret, constraints refuse every value that another key sealed, whatever gateway is still alive.
// Migrations do not make them, so a backup says which there are.

import pg from 'pg'

/** Each value in the columns begins with `keyId`, which is in hexadecimal. */
export type SealConstraint = { table: string; columns: readonly string[]; keyId: string }

const suffix = '_are_sealed_with_one_key'

export async function addSealConstraint(
  client: pg.ClientBase,
  { table, columns, keyId }: SealConstraint,
): Promise<void> {
  // An empty value is that of a request that still runs, or of a webhook that was deleted.
  const rules = columns
    .map(pg.escapeIdentifier)
    .map(column => `(length(${column}) = 0 OR substring(${column} FROM 1 FOR ${keyId.length / 2}) = ${literal(keyId)})`)
  await client.query(`ALTER TABLE ${pg.escapeIdentifier(table)}
    ADD CONSTRAINT ${pg.escapeIdentifier(`${table}${suffix}`)} CHECK (${rules.join(' AND ')})`)
}

export async function dropSealConstraint(client: pg.ClientBase, table: string): Promise<void> {
  await client.query(`ALTER TABLE ${pg.escapeIdentifier(table)}
    DROP CONSTRAINT IF EXISTS ${pg.escapeIdentifier(`${table}${suffix}`)}`)
}

/** None if the secret was never changed. The client must print bytes as hexadecimal. */
export async function readSealConstraints(client: pg.ClientBase): Promise<SealConstraint[]> {
  const { rows } = await client.query<SealConstraint>(
    `SELECT c.relname AS "table",
      (SELECT json_agg(attname ORDER BY array_position(conkey, attnum)) FROM pg_attribute
        WHERE attrelid = conrelid AND attnum = ANY (conkey)) AS columns,
      substring(pg_get_constraintdef(k.oid) FROM '''\\\\x([0-9a-f]+)''') AS "keyId"
      FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid
      WHERE contype = 'c' AND connamespace = 'public'::regnamespace AND conname = c.relname || $1 ORDER BY c.relname`,
    [suffix],
  )
  return rows
}

function literal(keyId: string): string {
  return `${pg.escapeLiteral(`\\x${keyId}`)}::bytea`
}
