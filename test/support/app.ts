import pg from 'pg'
import { type App, createApp } from '../../src/app.ts'
import type { AppOptions } from '../../src/app-options.ts'
import type { Permissions } from '../../src/domain/accounts/permissions/permissions.ts'
import { createLog } from '../../src/http/log.ts'
import { unlimitedAdmission } from './billing/admission.ts'
import { type ManualClock, manualClock } from './clock.ts'
import { createDatabase, type TestDatabase } from './database/database.ts'
import { urlAs } from './database/roles.ts'
import { plainRequest, textOf } from './plain-request.ts'
import './faces/rows-as-selected.ts'
import { requireDocumented } from './rest/require-documented.ts'

export type GraphqlAnswer = {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the test's query
  data: any
  errors: { message: string; path?: unknown[]; extensions: Record<string, unknown> }[] | undefined
}
// biome-ignore lint/suspicious/noExplicitAny: the shape depends on the test's request
export type RestAnswer = { status: number; headers: Headers; body: any }

export type TestApp = App & {
  clock: ManualClock
  database: TestDatabase
  logLines: Record<string, unknown>[]
  /** Creates an account and returns an API key of it. */
  newKey: (permissions?: Permissions | null, account?: { creditNanos?: bigint }) => Promise<string>
  /** Creates another API key for the account of `key`. */
  newScopedKey: (key: string, permissions: Permissions) => Promise<string>
  graphql: (key: string | undefined, query: string, variables?: object) => Promise<GraphqlAnswer>
  /** A path without a version means v0. */
  rest: (
    key: string | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<RestAnswer>
  /** Runs SQL on the database, past all services. */
  sql: (text: string, values?: unknown[]) => Promise<unknown[]>
  close: () => Promise<void>
}

/** With `sharedApp`, the app uses the database and the clock of that app. */
export type TestAppOptions = Partial<AppOptions> & { sharedApp?: TestApp }

/** Starts the real app on a database of its own. Tests call it through `fetch` and `plain`. */
export async function startApp({ sharedApp, ...options }: TestAppOptions = {}): Promise<TestApp> {
  const database = sharedApp?.database ?? (await createDatabase())
  const clock = sharedApp?.clock ?? manualClock()
  const logLines: Record<string, unknown>[] = []
  const { databaseUrl = database.url, ...others } = options
  const app = createApp({
    databaseUrl: urlAs('app', databaseUrl),
    ownerUrl: urlAs('owner', databaseUrl),
    metricsUrl: urlAs('metrics', databaseUrl),
    poolSize: 6,
    graphiql: false,
    metrics: false,
    demoKeyFile: undefined,
    secret: 'a secret of tests',
    toolboxFile: 'toolbox.tar',
    simulatedDelay: 1,
    eventRetentionDays: 90,
    sshProxy: null,
    startTimeoutMs: 30 * 60_000,
    offlineGraceMs: 5 * 60_000,
    ...unlimitedAdmission,
    build: { version: '0.0.0', migration: '20260101000000_first', node: '24.0.0' },
    log: createLog('info', { write: line => void logLines.push(JSON.parse(line)) }),
    now: clock.now,
    ...others,
  })
  await app.start()
  const pool = new pg.Pool({ connectionString: database.url, application_name: 'test' })
  // The pool replaces a connection that a test ends.
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
      const headers = { 'content-type': 'application/json', ...authorization(key) }
      const body = JSON.stringify({ query, variables })
      // As the HTTP server does.
      const plain = await app.plain('/graphql', plainRequest(headers, body))
      const response =
        'answer' in plain
          ? new Response(textOf(plain.answer), plain.answer)
          : await fetch(new Request('http://berth.test/graphql', { method: 'POST', headers, body }), plain)
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
