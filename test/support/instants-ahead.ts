/** Columns whose times may lie in the future: plans, expiries, leases, and the next steps of simulated machines. */
const plannedColumns = [
  ...['listed_until', 'ends_at', 'expires_at', 'leased_until', 'billing_leased_until', 'policy_leased_until'],
  ...['due_at', 'billing_due_at', 'policy_due_at', 'stop_at', 'destroy_at', 'old_secret_until'],
  ...['prepared_at', 'up_at', 'down_at'],
]

/**
 * Finds columns, other than the planned ones, with times ahead of the database's clock. Each row has the column, the
 * count and the largest lead.
 */
export async function findInstantsAhead<Row>(sql: (text: string) => Promise<Row[]>): Promise<Row[]> {
  const columns = (await sql(`
    SELECT table_name, column_name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND data_type = 'timestamp with time zone'
    AND table_name NOT LIKE '\\_prisma%' AND column_name <> ALL(ARRAY['${plannedColumns.join("', '")}'])
    ORDER BY 1, 2`)) as { table_name: string; column_name: string }[]
  const selects = columns.map(
    ({ table_name: table, column_name: column }) => `
      SELECT '${table}.${column}' AS place, count(*)::int, max("${column}") - clock_timestamp() AS by
      FROM "${table}" WHERE "${column}" > clock_timestamp() HAVING count(*) > 0`,
  )
  return await sql(selects.join(' UNION ALL '))
}
