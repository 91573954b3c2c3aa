import pg from 'pg'
import type { Database } from '../client.ts'
import { statementsOn } from '../statements.ts'

/** Reads figures for /metrics, as a role that may read nothing else, and apart from the connections of requests. */
export type Figures = Pick<Database, 'query' | 'nowSql'> & { close(): Promise<void> }

export function openFigures(url: string, { clock }: Pick<Database, 'clock'>): Figures {
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: 2_000,
    statement_timeout: 5_000,
    query_timeout: 7_000,
    application_name: 'berth metrics',
  })
  // The next read opens another connection.
  pool.on('error', () => {})
  return {
    query: statementsOn(pool, () => '').query,
    get nowSql() {
      return clock.nowSql
    },
    close: () => pool.end(),
  }
}
