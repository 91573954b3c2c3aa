// The database that a backup is restored into: what it has, and who uses it.

import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

/** `epoch` is that of the event cursors. */
type Contents =
  | { kind: 'empty' }
  | { kind: 'other' }
  | { kind: 'berth'; accounts: number; instances: number; epoch: number }

/** Refuses a database that has something, unless it may be replaced. Returns the epoch of its cursors. */
export async function checkContents(
  client: pg.ClientBase,
  { replace, takenAt }: { replace: boolean; takenAt: string },
) {
  const contents = await readContents(client)
  if (contents.kind === 'empty') return 0
  if (contents.kind === 'other')
    throw new Error('The database has tables that are not from Berth. Restore into a database of its own.')
  const { accounts, instances, epoch } = contents
  // One that was only migrated has nothing to lose.
  if (accounts === 0 || replace) return epoch
  throw new Error(
    `The database is not empty (accounts: ${accounts}, instances: ${instances}). With --replace, Berth deletes all of it, and puts the backup of ${takenAt} in its place.`,
  )
}

async function readContents(client: pg.ClientBase): Promise<Contents> {
  const { rows } = await client.query(
    `SELECT to_regclass('public._prisma_migrations') IS NOT NULL AND to_regclass('public.outbox') IS NOT NULL AS "isBerths",
      EXISTS (SELECT FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')) AS "hasTables"`,
  )
  const [{ isBerths, hasTables }] = rows
  if (!isBerths) return { kind: hasTables ? 'other' : 'empty' }
  const counted = await client.query(
    `SELECT (SELECT count(*)::int FROM accounts) AS accounts, (SELECT count(*)::int FROM instances) AS instances,
      (SELECT epoch FROM outbox) AS epoch`,
  )
  return { kind: 'berth', ...counted.rows[0] }
}

/**
 * Refuses while gateways or commands are connected. Those that are being stopped get `patienceMs` to leave. Those that start now
 * wait for the migration lock of the caller.
 */
export async function refuseUsers(client: pg.ClientBase, patienceMs: number): Promise<void> {
  const end = performance.now() + patienceMs
  for (;;) {
    const { rows } = await client.query<{ names: string[] | null }>(usersSql)
    const names = rows[0]?.names
    if (!names) return
    if (performance.now() > end)
      throw new Error(
        `Gateways or commands use the database: ${names.length} connections (${[...new Set(names)].join(', ')}). Stop them first, then restore.`,
      )
    await sleep(100)
  }
}

/** A process that waits for the migration lock has read nothing yet. */
const usersSql = `
  SELECT json_agg(application_name) AS names FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND application_name LIKE 'berth%' AND application_name <> 'berth lock'`

/** Drops what the owner of Berth's tables has in the schema. */
export async function dropContents(client: pg.ClientBase): Promise<void> {
  await client.query(dropSql)
}

const dropSql = `
  DO $$
  DECLARE
    -- Null if there is nothing of Berth.
    owner oid := (SELECT relowner FROM pg_class WHERE oid = to_regclass('public._prisma_migrations'));
    statement text;
  BEGIN
    -- Named before the first is dropped: a table takes along what belongs to it, and a name cannot be found then.
    FOREACH statement IN ARRAY ARRAY(
      SELECT format('DROP TABLE IF EXISTS %s CASCADE', oid::regclass) FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relowner = owner AND relkind IN ('r', 'p') AND NOT relispartition
      UNION ALL SELECT format('DROP FUNCTION IF EXISTS %s CASCADE', oid::regprocedure) FROM pg_proc p
        WHERE pronamespace = 'public'::regnamespace AND proowner = owner
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
      UNION ALL SELECT format('DROP TYPE IF EXISTS %s CASCADE', oid::regtype) FROM pg_type
        WHERE typnamespace = 'public'::regnamespace AND typowner = owner AND typtype = 'e')
    LOOP
      EXECUTE statement;
    END LOOP;
  END $$`
