// The query for the charges of some days, in an account with a long history.

import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { chargesStatement } from '../../../src/services/billing/charges-sql.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { someCredit } from '../../support/instances/rentals.ts'

const pastMeters = 3_000

let app: TestApp
let key: string
let accountId: number

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey(null, someCredit)
  accountId = (await app.rest(key, 'GET', '/users/current/')).body.id
  // Inserts only meters and charges, each for one hour of a disk. Their instances need not exist.
  await app.sql(`SET session_replication_role = replica;
    INSERT INTO meters (account_id, instance_id, kind, rate_nanos, since)
      SELECT ${accountId}, 1000000 + n, 'disk', 0, timestamptz '2020-01-01Z' + n * interval '1 hour'
      FROM generate_series(1, ${pastMeters}) n;
    INSERT INTO ledger_entries (account_id, kind, amount_nanos, meter_id, period_start, period_end, rate_nanos, carried,
      posted_at) SELECT account_id, 'disk', -4000000, id, since - interval '1 hour', since, 4000000, 0, since
      FROM meters WHERE account_id = ${accountId};
    RESET session_replication_role`)
  await app.sql('VACUUM ANALYZE meters, ledger_entries')
})

afterAll(() => app.close())

const secondsOf = (day: string) => Date.parse(day) / 1000
const charges = async (from: string, to: string, more = '') => {
  const select_filters = JSON.stringify({ day: { gte: secondsOf(from), lt: secondsOf(to) } })
  return (await app.rest(key, 'GET', `/charges/?${new URLSearchParams({ select_filters })}${more}`)).body
}

it('lists and counts only resources with costs on the given days', async () => {
  expect(await charges('2020-01-10', '2020-01-12', '&limit=100')).toMatchObject({ count: 48, total: 48 })
  expect(await charges('2020-01-10', '2020-01-12', '&limit=5')).toMatchObject({ count: 5, total: 48 })
  expect(await charges('2026-01-10', '2026-01-12')).toMatchObject({ count: 0, total: 0, next_token: null })
})

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** Counts the rows of a table that a plan reads, including the rows that it filters out. */
function countRowsRead(plan: Plan, table: string): number {
  const rows = plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)
  const here = plan['Relation Name'] === table ? rows * plan['Actual Loops'] : 0
  return (plan.Plans ?? []).reduce((sum, child) => sum + countRowsRead(child, table), here)
}

it.each([
  ['days after all charges', '2026-01-10', '2026-01-12', 0],
  ['days near the last charges', '2020-05-04', '2020-05-06', 100],
])('reads each meter only a few times, and few charges of earlier days: %s', async (_where, from, to, fewCharges) => {
  const account = { accountId, at: app.clock.now(), endsAt: null }
  const query = { resources: ['instance', 'volume'], latestFirst: false, limit: 51, after: undefined } as const
  const { text, values } = chargesStatement(account, { ...query, startsAt: new Date(from), endsAt: new Date(to) })
  const client = new pg.Client({ connectionString: app.database.url })
  await client.connect()
  const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
  await client.end()
  const { Plan: plan } = rows[0]['QUERY PLAN'][0] as { Plan: Plan }
  expect(countRowsRead(plan, 'meters')).toBeLessThan(5 * pastMeters)
  expect(countRowsRead(plan, 'ledger_entries')).toBeLessThanOrEqual(fewCharges)
})
