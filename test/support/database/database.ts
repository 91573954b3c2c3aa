import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { withDatabase } from '../../../src/database/embedded/server.ts'

/** The URL is the superuser's, for the tests' own SQL. Gateways of tests use `urlAs('app', url)` (roles.ts). */
export type TestDatabase = { url: string; drop: () => Promise<void> }

/** Creates a database for this test file: a clone of the migrated template, or an empty one. Copied files need no write-ahead log. */
export async function createDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const name = `berth_test_${randomBytes(6).toString('hex')}`
  const template = empty ? '' : ` TEMPLATE ${inject('templateName')} STRATEGY FILE_COPY`
  await runOnServer(`CREATE DATABASE ${name} OWNER ${inject('logins').owner.username}${template}`)
  return {
    url: withDatabase(serverUrl(), name),
    drop: () => runOnServer(`DROP DATABASE ${name} WITH (FORCE)`),
  }
}

/** The database server of this worker. */
export function serverUrl(): string {
  const urls = inject('serverUrls')
  return urls[(Number(process.env['VITEST_POOL_ID']) - 1) % urls.length] as string
}

async function runOnServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl() })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}
