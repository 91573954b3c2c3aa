// Behind a pooler of transactions, a connection of the gateway stays open while the pooler moves on to another server, or while
// the database is migrated to a version that leaves the gateway behind. So each transaction begins by asking which server runs
// it, and which version is the oldest one allowed. If that has not been checked, the gateway first checks, on a connection to
// PostgreSQL itself, what it checks on each new connection elsewhere.

import pg from 'pg'

export type ServerGuard = {
  /** Sends statements that begin a transaction, on a server that has been checked. Returns their results, as pg does. */
  begin(client: pg.ClientBase, text: string): Promise<pg.QueryResult | pg.QueryResult[]>
}
type GuardOptions = {
  directUrl: string
  /** Settings of each transaction: a pooler passes on none of a connection. */
  settings: Readonly<Record<string, string | number>>
  check(client: pg.Client): Promise<void>
}

/** Null before the migration that makes the table. */
const mayReadOldestSql = "has_table_privilege(to_regclass('public.oldest_version')::oid, 'SELECT')"

/**
 * Another start of the server, another database, or another oldest version has another text. A server that is promoted was
 * refused before.
 */
const serverSql = (mayReadOldest: boolean) => `
  concat_ws('/', pg_postmaster_start_time(), to_regclass('public.outbox')::oid,
    ${mayReadOldest ? '(SELECT migration FROM public.oldest_version)' : mayReadOldestSql}) AS server`

export function createServerGuard({ directUrl, settings, check }: GuardOptions): ServerGuard {
  const values = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', true)`)
  let mayReadOldest = false
  let checked: string | undefined
  let checking: Promise<void> | undefined

  async function checkDirectly(): Promise<void> {
    const client = new pg.Client({
      ...{ connectionString: directUrl, application_name: 'berth check' },
      ...{ connectionTimeoutMillis: 2_000, query_timeout: 7_000 },
    })
    client.on('error', () => {})
    await client.connect()
    try {
      const { rows: found } = await client.query<{ may: boolean | null }>(`SELECT ${mayReadOldestSql} AS may`)
      const may = found[0]?.may === true
      // Read before the check: a version that comes later is another one.
      const { rows } = await client.query<{ server: string }>(`SELECT ${serverSql(may)}`)
      await check(client)
      ;[mayReadOldest, checked] = [may, rows[0]?.server]
    } finally {
      await client.end()
    }
  }

  /** Transactions that begin meanwhile share one check. */
  function checkOnce(): Promise<void> {
    checking ??= checkDirectly().finally(() => {
      checking = undefined
    })
    return checking
  }

  async function tryBegin(client: pg.ClientBase, text: string) {
    const [begin = '', ...others] = text.split(';')
    const askSql = `SELECT ${[serverSql(mayReadOldest), ...values].join(', ')}`
    const answer: unknown = await client.query([begin, askSql, ...others].join(';'))
    // For several statements, pg returns an array of results.
    const [begun, asked, ...rest] = answer as [pg.QueryResult, pg.QueryResult<{ server: string }>, ...pg.QueryResult[]]
    if (asked.rows[0]?.server === checked) return rest.length > 0 ? [begun, ...rest] : begun
    await client.query('ROLLBACK')
    return undefined
  }

  return {
    async begin(client, text) {
      const begun = await tryBegin(client, text)
      if (begun) return begun
      await checkOnce()
      const again = await tryBegin(client, text)
      if (again) return again
      // PostgreSQL's code for a failed connection. While a fail-over runs, the two may differ for a moment.
      throw Object.assign(new Error('The pooler leads to another server than DATABASE_DIRECT_URL.'), { code: '08006' })
    },
  }
}

/** The connection, with the guard before each transaction. Statements have no name: the pooler would lose what it stands for. */
export function guarded(client: pg.PoolClient, guard: ServerGuard): pg.PoolClient {
  const query = (statement: string | pg.QueryConfig, values?: unknown[]) => {
    const text = typeof statement === 'string' ? statement : statement.text
    if (text.startsWith('BEGIN')) return guard.begin(client, text)
    return client.query(withoutName(statement), values)
  }
  return Object.create(client, { query: { value: query } })
}

/** Runs one statement, as a transaction of its own. */
export async function queryAlone(client: pg.PoolClient, statement: string | pg.QueryConfig, values?: unknown[]) {
  await client.query('BEGIN')
  const results = [client.query(statement, values), client.query('COMMIT')] as const
  await Promise.allSettled(results)
  const [result] = await Promise.all(results)
  return result
}

/** Prepared for its single use. */
export function withoutName(statement: string | pg.QueryConfig): string | pg.QueryConfig {
  return typeof statement === 'string' ? statement : { ...statement, name: undefined }
}
