import { grantsSql } from '../../../src/database/roles/grants.ts'
import { appRole, metricsRole } from '../../../src/database/roles/privileges.ts'
import { withSession } from '../database/sessions.ts'

/** What a restore changes on purpose: the ids of transactions, the line of history, and when instances are looked at. */
const changed: Record<string, string[]> = {
  events: ['xid'],
  market_changes: ['xid'],
  outbox: ['epoch', 'cluster', 'purged_xid', 'purged_id'],
  instance_looks: ['generation', 'due_at'],
}

/** Everything in a database that a restore must bring back: rows, objects of the schema and grants. */
export async function readRestored(url: string) {
  return await withSession(url, async session => {
    const texts = async (query: string, values: unknown[] = []) =>
      (await session.query<{ text: string }>(query, values)).rows.map(({ text }) => text).toSorted()
    const tables = await session.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND NOT relispartition AND relname NOT IN ('_prisma_migrations', 'failovers') ORDER BY relname`,
    )
    const rows: Record<string, string[]> = {}
    for (const { name } of tables.rows)
      rows[name] = await texts(`SELECT (to_jsonb(t) - $1::text[])::text AS text FROM ${name} t`, [changed[name] ?? []])
    const objects = await texts(objectsSql)
    return {
      rows,
      objects,
      grants: await texts(`SELECT g::text AS text FROM (${grantsSql}) g`, [[appRole, metricsRole]]),
    }
  })
}

/** Columns, constraints, triggers with their state, functions, types and partitions. Not the names of partitions' indexes. */
const objectsSql = `
  SELECT format('%s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid)) AS text
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
  UNION ALL SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
  WHERE connamespace = 'public'::regnamespace AND contype <> 'n' AND NOT conrelid IN (SELECT oid FROM pg_class WHERE relispartition)
  UNION ALL SELECT format('%s %s', tgenabled, pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT format('%s %s', t.typname, e.enumlabel) FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid
  UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid
  WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition
  UNION ALL SELECT format('%s %s %s', inhparent::regclass, inhrelid::regclass, pg_get_expr(c.relpartbound, c.oid))
  FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace`
