import type pg from 'pg'

/** Copies the rows of a table where `where` holds, once for each row of `from`. `changes`: columns with other values. */
export type Copy = { table: string; from: string; where: string; changes: Record<string, string> }

/** Runs a copy, or another statement. A copy takes the columns that it does not change as they are. */
export async function copyRows(session: pg.Client, copy: string | Copy): Promise<void> {
  if (typeof copy === 'string') {
    await session.query(copy)
    return
  }
  const { table, from, where, changes } = copy
  const { rows } = await session.query(
    `SELECT quote_ident(attname) AS name FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attnum > 0
     AND NOT attisdropped AND attgenerated = ''`,
  )
  const names = rows.map(({ name }) => name as string)
  const values = names.map(name => changes[name] ?? `s.${name}`)
  const text = `INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM ${table} s, ${from} WHERE ${where}`
  await session.query(text)
}
