import pg from 'pg'

/**
 * Every value of every table as one text, as a thief of the database would search it. Bytes are also decoded as text.
 */
export async function dumpDatabase(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string; values: string }>(`
      SELECT quote_ident(table_name) AS name, string_agg(quote_ident(column_name) || '::text', ', ') AS values
      FROM information_schema.columns WHERE table_schema = 'public' GROUP BY table_name ORDER BY table_name`)
    const lines: string[] = []
    for (const { name, values } of tables) {
      const { rows } = await client.query<unknown[]>({ text: `SELECT ${values} FROM ${name}`, rowMode: 'array' })
      for (const row of rows) lines.push([name, ...row.map(asText)].join(' '))
    }
    return lines.join('\n')
  } finally {
    await client.end()
  }
}

function asText(value: unknown): string {
  const text = String(value)
  const [, hex] = /^\\x([0-9a-f]*)$/.exec(text) ?? []
  return hex === undefined ? text : `${text} ${Buffer.from(hex, 'hex').toString('utf8')}`
}
