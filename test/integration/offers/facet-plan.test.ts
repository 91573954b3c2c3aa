// The query for the facets of a search, in a market of thousands of machines.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedMarket } from '../../../prisma/seed.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureStatements } from '../../support/database/captured-statements.ts'

let app: TestApp
let key: string
let client: pg.Client

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  await seedMarket(app.operations, { machines: 3_000 })
  await app.sql('UPDATE offers SET rentable = false WHERE machine_id % 3 = 0')
  await app.sql('VACUUM ANALYZE offers, machines, gpu_models, offer_kinds')
  client = new pg.Client({ connectionString: app.database.url })
  await client.connect()
}, 240_000)

afterAll(async () => {
  await client.end()
  await app.close()
})

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

const scansOf = (plan: Plan, table: string): Plan[] => [
  ...(plan['Relation Name'] === table ? [plan] : []),
  ...(plan.Plans ?? []).flatMap(one => scansOf(one, table)),
]

/** Asks for facets, and reads how the statement found the offers and machines. */
async function explain(filter: string, by: string) {
  let matches = 0
  const statements = await captureStatements(async () => {
    const query = `{ offers(first: 1, filter: { ${filter} }) { totalCount facets(by: [${by}]) { values { count } } } }`
    const { data, errors } = await app.graphql(key, query)
    expect(errors).toBeUndefined()
    matches = data.offers.totalCount
  })
  const facets = statements.filter(({ text }) => text.includes('GROUPING SETS'))
  expect(facets).toHaveLength(1)
  const { text, values } = facets[0] ?? expect.fail('No facet was counted.')
  const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
  const { Plan } = rows[0]['QUERY PLAN'][0] as { Plan: Plan }
  const of = (table: string) => {
    const scans = scansOf(Plan, table)
    const read = scans.reduce(
      (sum, scan) => sum + (scan['Actual Rows'] + (scan['Rows Removed by Filter'] ?? 0)) * scan['Actual Loops'],
      0,
    )
    return { scans, read, whole: scans.filter(scan => scan['Node Type'] === 'Seq Scan').length }
  }
  return { matches, offers: of('offers'), machines: of('machines') }
}

const everyFacet = 'GPU_NAME, NUM_GPUS, COUNTRY, REGION, GPU_RAM_GB, VERIFICATION, DATACENTER, STATIC_IP'
const countOffers = async () => {
  const [row] = (await app.sql('SELECT count(*)::int AS count FROM offers')) as { count: number }[]
  return row?.count ?? 0
}

describe('the facets of a search among the offers of 3,000 machines', () => {
  it.each([
    ['two models', 'verified: true, gpuName: { in: ["RTX 4090", "H100 SXM"] }'],
    ['eight GPUs', 'verified: true, numGpus: { eq: 8 }'],
    ['one marketed size of memory', 'verified: true, gpuRamGb: { eq: 24 }'],
  ])('read only the offers of the kinds that match: %s', async (_what, filter) => {
    const { matches, offers } = await explain(filter, everyFacet)
    expect(matches).toBeGreaterThan(10)
    expect(offers.whole).toBe(0)
    // A machine has an offer for each bundle; those that do not lead theirs are read and left out.
    expect(offers.read).toBeLessThan((await countOffers()) / 3)
  })

  it('read the matches once, however many facets are asked for', async () => {
    const one = await explain('verified: true, numGpus: { eq: 8 }', 'GPU_NAME')
    const all = await explain('verified: true, numGpus: { eq: 8 }', everyFacet)
    expect([one.offers.scans.length, all.offers.scans.length]).toEqual([1, 1])
    expect(all.offers.read).toBe(one.offers.read)
  })

  it('read no machine for facets of offers and models alone', async () => {
    const { machines } = await explain('verified: true, numGpus: { eq: 8 }', 'GPU_NAME, NUM_GPUS, GPU_RAM_GB')
    expect(machines.scans).toEqual([])
  })

  it('of one machine find its offers by its id', async () => {
    const [machine] = (await app.sql('SELECT machine_id AS id FROM offers WHERE rentable LIMIT 1')) as { id: number }[]
    const { matches, offers, machines } = await explain(`machineId: { eq: "mch_${machine?.id}" }`, everyFacet)
    expect(matches).toBeGreaterThan(0)
    expect([offers.whole, machines.whole]).toEqual([0, 0])
    expect([offers.read, machines.read].every(read => read < 100)).toBe(true)
  })
})
