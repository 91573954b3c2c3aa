// What a backup says of itself: its first line, as JSON.

import pg from 'pg'
import { newerMigrations, pendingMigrations } from '../migrations.ts'
import { appTables } from '../roles/privileges.ts'
import { readSealConstraints, type SealConstraint } from '../sealing/constraints.ts'

export const format = 'berth backup'
export const formatVersion = 1

export type Table = { name: string; columns: string[] }
/** A partition of `table`. `bounds` are in the words of PostgreSQL. */
export type Partition = { table: string; name: string; bounds: string }
/** `lastValue` is the last number that the sequence gave; 0 if it gave none. */
export type Sequence = { name: string; lastValue: string }

export type Header = {
  format: typeof format
  version: number
  /** The backup has all changes up to here, and none that began later. */
  takenAt: string
  /** The version of PostgreSQL. */
  postgres: string
  /** The migrations that the database had, oldest first. */
  migrations: string[]
  /** In Base64, a text that only the secret of the gateways opens; null if no gateway has used the database. */
  secretCheck: string | null
  tables: Table[]
  partitions: Partition[]
  sequences: Sequence[]
  /** The first backups do not have it. */
  sealed?: SealConstraint[]
}

/** The tables of Berth. Not those of another program in the same schema. None in an empty database. */
export async function listTables(client: pg.ClientBase): Promise<Table[]> {
  const { rows: found } = await client.query(`SELECT WHERE to_regclass('public._prisma_migrations') IS NOT NULL`)
  if (found.length === 0) return []
  // A newer version may have made tables that this one does not know.
  const others = [await pendingMigrations(client), await newerMigrations(client)]
  const isCurrent = others.every(names => names.length === 0)
  const known = new Set(appTables.flatMap(({ tables }) => tables))
  const { rows } = await client.query<Table>(tablesSql)
  return rows.filter(({ name }) => !isCurrent || known.has(name))
}

/** Describes the database as the transaction of the client sees it. */
export async function describeContents(client: pg.ClientBase, tables: Table[]): Promise<Header> {
  const { rows } = await client.query(
    `SELECT now() AS "takenAt", current_setting('server_version') AS postgres,
      (SELECT json_agg(migration_name ORDER BY migration_name) FROM _prisma_migrations
        WHERE rolled_back_at IS NULL AND finished_at IS NOT NULL) AS migrations`,
  )
  const [{ takenAt, postgres, migrations }] = rows
  const hasCheck = tables.some(({ name }) => name === 'secret_check')
  const checks = hasCheck ? (await client.query<{ sealed: Buffer }>('SELECT sealed FROM secret_check')).rows : []
  return {
    ...{ format, version: formatVersion, takenAt: takenAt.toISOString(), postgres, migrations, tables },
    secretCheck: checks[0]?.sealed.toString('base64') ?? null,
    partitions: (await client.query<Partition>(partitionsSql)).rows,
    sequences: await readSequences(client),
    sealed: await readSealConstraints(client),
  }
}

async function readSequences(client: pg.ClientBase): Promise<Sequence[]> {
  const { rows } = await client.query<{ name: string }>(sequencesSql)
  const statements = rows.map(({ name }) => {
    const value = `(last_value - CASE WHEN is_called THEN 0 ELSE 1 END)::text AS "lastValue"`
    return `SELECT ${pg.escapeLiteral(name)} AS name, ${value} FROM public.${pg.escapeIdentifier(name)}`
  })
  return (await client.query<Sequence>(statements.join(' UNION ALL '))).rows
}

/** Whether `c` is owned by the owner of Berth's tables. */
const isOwnSql = `c.relnamespace = 'public'::regnamespace
  AND c.relowner = (SELECT relowner FROM pg_class WHERE oid = 'public._prisma_migrations'::regclass)`

/**
 * Ids of transactions mean nothing in another database, so they are left out. A restored row gets the default: the id of the
 * transaction that restores it.
 */
const tablesSql = `
  SELECT c.relname AS name, json_agg(a.attname ORDER BY a.attnum) AS columns
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    AND a.attgenerated = '' AND a.atttypid <> 'xid8'::regtype
  WHERE ${isOwnSql} AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> '_prisma_migrations'
  GROUP BY c.relname ORDER BY c.relname`

const sequencesSql = `SELECT c.relname AS name FROM pg_class c WHERE ${isOwnSql} AND c.relkind = 'S' ORDER BY c.relname`

export const partitionsSql = `
  SELECT p.relname AS "table", c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
  WHERE p.relkind = 'p' AND p.relnamespace = 'public'::regnamespace ORDER BY c.relname`
