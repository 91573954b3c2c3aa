import pg from 'pg'
import { type App, type AppOptions, createApp } from '../../src/app.ts'
import type { Permissions } from '../../src/domain/accounts/permissions/permissions.ts'
import { createLog } from '../../src/http/log.ts'
import { unlimitedAdmission } from './billing/admission.ts'
import { type ManualClock, manualClock } from './clock.ts'
import { createDatabase, type TestDatabase } from './database/database.ts'
import { requireDocumented } from './rest/require-documented.ts'

export type GraphqlAnswer = {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever the test asked for
  data: any
  errors: { message: string; path?: unknown[]; extensions: Record<string, unknown> }[] | undefined
}
// biome-ignore lint/suspicious/noExplicitAny: whatever the test asked for
export type RestAnswer = { status: number; headers: Headers; body: any }

export type TestApp = App & {
  clock: ManualClock
  database: TestDatabase
  /** Every line that was logged. */
  logLines: Record<string, unknown>[]
  /** A key of a new account. */
  newKey: (permissions?: Permissions | null, account?: { creditNanos?: bigint }) => Promise<string>
  /** Another key of the account that a key belongs to. */
  newScopedKey: (key: string, permissions: Permissions) => Promise<string>
  graphql: (key: string | undefined, query: string, variables?: object) => Promise<GraphqlAnswer>
  /** A path without its version is one of v0. */
  rest: (
    key: string | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<RestAnswer>
  /** Does to the database what no service does. */
  sql: (text: string, values?: unknown[]) => Promise<unknown[]>
  close: () => Promise<void>
}

/** What the app is made with, and another whose database and clock it shares. */
export type TestAppOptions = Partial<AppOptions> & { sharedApp?: TestApp }

/** The real app on a database of its own, asked through `fetch`. */
export async function startApp({ sharedApp, ...options }: TestAppOptions = {}): Promise<TestApp> {
  const database = sharedApp?.database ?? (await createDatabase())
  const clock = sharedApp?.clock ?? manualClock()
  const logLines: Record<string, unknown>[] = []
  const app = createApp({
    databaseUrl: database.url,
    poolSize: 4,
    graphiql: false,
    metrics: false,
    host: '127.0.0.1',
    demoKeyFile: undefined,
    secret: 'a secret of tests',
    simulatedDelay: 1,
    eventRetentionDays: 90,
    sshProxy: null,
    startTimeoutMs: 30 * 60_000,
    offlineGraceMs: 5 * 60_000,
    ...unlimitedAdmission,
    log: createLog('info', { write: line => void logLines.push(JSON.parse(line)) }),
    now: clock.now,
    ...options,
  })
  await app.start()
  const pool = new pg.Pool({ connectionString: database.url, application_name: 'test' })
  // One that a test ends is replaced.
  pool.on('error', () => {})
  const fetch = requireDocumented(app.fetch)
  const emails = new Map<string, string>()
  const createScopedKey = async (email: string, permissions: Permissions) => {
    const { apiKey } = await app.operations.accounts.createApiKey(email, { permissions })
    emails.set(apiKey, email)
    return apiKey
  }
  return {
    ...app,
    fetch,
    clock,
    database,
    logLines,
    async newKey(permissions = null, account = {}) {
      const email = `renter-${emails.size + 1}@example.com`
      const { apiKey } = await app.operations.accounts.create({ email, ...account })
      emails.set(apiKey, email)
      return permissions === null ? apiKey : await createScopedKey(email, permissions)
    },
    newScopedKey: (key, permissions) => createScopedKey(emails.get(key) as string, permissions),
    async graphql(key, query, variables) {
      const response = await fetch(
        new Request('http://berth.test/graphql', {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...authorization(key) },
          body: JSON.stringify({ query, variables }),
        }),
      )
      const { data, errors } = await response.json()
      return { status: response.status, data, errors }
    },
    async rest(key, method, path, body, headers = {}) {
      const init = { method, headers: { 'content-type': 'application/json', ...authorization(key), ...headers } }
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const request = new Request(
        `http://berth.test${path.startsWith('/api/') ? path : `/api/v0${path}`}`,
        body === undefined ? init : { ...init, body: text },
      )
      const response = await fetch(request)
      return { status: response.status, headers: response.headers, body: await response.json() }
    },
    sql: async (text, values) => (await pool.query(text, values)).rows,
    async close() {
      await app.stop()
      await pool.end()
      if (!sharedApp) await database.drop()
    },
  }
}

function authorization(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` }
}
