// The queries for the usage of a month and for limits, in an account with a long history among many others.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Prisma } from '../../../src/database/generated/client.ts'
import type { UsageDimension } from '../../../src/domain/billing/usage.ts'
import { loadSpending } from '../../../src/services/billing/spending.ts'
import { usageStatement } from '../../../src/services/billing/usage-sql.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'

const [meters, chargesPerMeter] = [2_000, 50]
const day = 86_400_000

let app: TestApp
let accountId: number
let client: pg.Client

/** Copies an instance of a new account, with disk meters that have one charge a day, all of them in 2020 and 2021. */
async function addHistory(key: string, count: number, charges: number): Promise<number> {
  const id = await rentalsOf(app).rent(key, { target_state: 'stopped', label: 'old' })
  const account = (await app.rest(key, 'GET', '/users/current/')).body.id as number
  await app.sql(`SET session_replication_role = replica;
    WITH copied AS (
      INSERT INTO instances SELECT copy.* FROM instances source, generate_series(1, ${count}) n,
        json_populate_record(source, json_build_object('id', nextval('instances_id_seq'),
          'offer_id', -100000 * ${account} - n, 'label', 'run ' || n % 100, 'destroyed_at', now())) copy
      WHERE source.id = ${id} RETURNING id, account_id
    ), metered AS (
      INSERT INTO meters (account_id, instance_id, kind, rate_nanos, since, began_at)
      SELECT account_id, id, 'disk', 0, timestamptz '2020-01-01Z' + (id % 600 + ${charges}) * interval '1 day',
        timestamptz '2020-01-01Z' + id % 600 * interval '1 day'
      FROM copied RETURNING id, account_id, since
    )
    INSERT INTO ledger_entries (account_id, kind, amount_nanos, meter_id, period_start, period_end, rate_nanos, carried,
      posted_at)
    SELECT account_id, 'disk', -96000000, id, since - n * interval '1 day', since - (n - 1) * interval '1 day', 4000000, 0,
      since FROM metered, generate_series(1, ${charges}) n;
    RESET session_replication_role`)
  return account
}

beforeAll(async () => {
  app = await startApp()
  accountId = await addHistory(await app.newKey(null, someCredit), meters, chargesPerMeter)
  await addHistory(await app.newKey(null, someCredit), 10 * meters, 1)
  await app.sql('VACUUM ANALYZE meters, ledger_entries, instances')
  client = new pg.Client({ connectionString: app.database.url })
  await client.connect()
}, 120_000)

afterAll(async () => {
  await client.end()
  await app.close()
})

type Plan = {
  'Node Type': string
  'Rows Removed by Filter'?: number
  'Relation Name'?: string
  Alias?: string
  'Actual Rows': number
  'Actual Loops': number
  Plans?: Plan[]
}

/** All parts of a plan that read a table. */
function scansOf(plan: Plan): Plan[] {
  return [...(plan['Relation Name'] ? [plan] : []), ...(plan.Plans ?? []).flatMap(scansOf)]
}

async function explain(startsAt: string, days: number, dimensions: readonly UsageDimension[]): Promise<Plan[]> {
  const spans = Array.from({ length: days }, (_, index) => {
    const start = Date.parse(startsAt) + index * day
    return { startsAt: new Date(start), endsAt: new Date(start + day) }
  })
  const { text, values } = usageStatement({ accountId, at: app.clock.now(), endsAt: null }, spans, dimensions)
  return await explainStatement({ text, values })
}

async function explainStatement({ text, values }: { text: string; values: unknown[] }): Promise<Plan[]> {
  const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
  return scansOf((rows[0]['QUERY PLAN'][0] as { Plan: Plan }).Plan)
}

const rowsOf = (scans: Plan[], alias: string) =>
  scans
    .filter(scan => scan.Alias === alias)
    .reduce(
      (sum, scan) => sum + (scan['Actual Rows'] + (scan['Rows Removed by Filter'] ?? 0)) * scan['Actual Loops'],
      0,
    )

describe('the usage of an account with 100,000 charges', () => {
  it.each<[string, UsageDimension[]]>([
    ['kind', ['kind']],
    ['label, GPU model and template', ['label', 'gpuModel', 'template']],
  ])('by %s reads the last month through indexes, and few earlier charges', async (_what, dimensions) => {
    const scans = await explain('2021-09-10', 31, dimensions)
    // `e`: charges, `m`: meters. Other tables are small here, and may be read whole.
    const whole = scans.filter(scan => scan['Node Type'] === 'Seq Scan').map(scan => scan.Alias)
    expect(whole.filter(alias => alias === 'e' || alias === 'm')).toEqual([])
    const charges = rowsOf(scans, 'e')
    expect(charges).toBeGreaterThan(500)
    expect(charges).toBeLessThan((meters * chargesPerMeter) / 10)
  })

  it('reads few meters that began after the period', async () => {
    const scans = await explain('2020-02-01', 31, ['kind'])
    // A sixth of the meters had charges in the first two months.
    expect(rowsOf(scans, 'm')).toBeLessThan(meters / 4)
    expect(rowsOf(scans, 'e')).toBeGreaterThan(500)
    expect(rowsOf(scans, 'e')).toBeLessThan((meters * chargesPerMeter) / 8)
  })

  it('reads no charge for a period after all of them', async () => {
    expect(rowsOf(await explain('2026-03-01', 31, ['label']), 'e')).toBe(0)
  })
})

describe('the ends of 2,000 running meters', () => {
  const ends = 130
  beforeAll(async () => {
    await app.sql(`SET session_replication_role = replica;
      UPDATE meters SET rate_nanos = 4000000 WHERE account_id = ${accountId};
      INSERT INTO meter_ends (meter_id, account_id, at)
      SELECT id, account_id, since FROM meters WHERE account_id = ${accountId} ORDER BY id LIMIT ${ends};
      RESET session_replication_role`)
    await app.sql('VACUUM ANALYZE meters, meter_ends')
  })

  async function explainSpending(): Promise<Plan[]> {
    const sent: Prisma.Sql[] = []
    const database = {
      query: async (statement: Prisma.Sql) => {
        sent.push(statement)
        return []
      },
    }
    await loadSpending(database, { accountId, at: app.clock.now() }, [{ apiKeyId: null, from: new Date('2021-09-10') }])
    return await explainStatement(sent[0] as Prisma.Sql)
  }

  it.each([
    ['usage', () => explain('2021-09-10', 31, ['kind'])],
    ['limits', explainSpending],
  ])('are found together for the %s, and then read only for the meters that have one', async (_what, explained) => {
    const scans = await explained()
    const read = scans.filter(scan => scan['Relation Name'] === 'meter_ends')
    expect(read.reduce((sum, scan) => sum + scan['Actual Loops'], 0)).toBeLessThanOrEqual(ends + 2)
  })
})
