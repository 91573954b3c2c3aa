// The rows that searches read in a market of thousands of machines, where a scan of all offers would be cheap enough for the
// planner to choose it.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { seedMarket } from '../../../prisma/seed.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { countRowsRead, type Explained, explainStatements, type Plan } from '../../support/database/plans.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  await seedMarket(app.operations, { machines: 3_000 })
  await app.sql('VACUUM ANALYZE offers, machines, gpu_models, offer_kinds')
}, 240_000)

afterAll(() => app.close())

it.each([
  ['without a filter', {}, 500],
  ['of one model', { filter: { gpuName: { eq: 'RTX 4090' } } }, 500],
  ['of a country that no machine is in', { filter: { country: { eq: 'ZZ' } } }, 4_500],
  ['of a fact that no machine has', { filter: { downloadMbps: { gte: 1_000_000 } } }, 2_500],
  [
    'of two models, as alternatives',
    { filter: { or: ['RTX 4090', 'H100 SXM'].map(eq => ({ gpuName: { eq } })) } },
    1_000,
  ],
  [
    'of one model in the order of prices per GPU',
    { filter: { gpuName: { eq: 'RTX 4090' } }, orderBy: [{ field: 'PRICE_PER_GPU_HOUR', direction: 'ASC' }] },
    500,
  ],
  ['in the order of scores', { orderBy: [{ field: 'SCORE', direction: 'DESC' }] }, 500],
  ['in the order of performance', { orderBy: [{ field: 'DLPERF', direction: 'DESC' }] }, 1_000],
  ['with a disk of 200 GB', { pricing: { diskGb: 200 } }, 4_500],
  ['in the order of prices without a disk', { orderBy: [{ field: 'GPU_PRICE_PER_HOUR', direction: 'ASC' }] }, 4_500],
  ['in the order of bids', { orderBy: [{ field: 'MINIMUM_BID_PER_HOUR', direction: 'ASC' }] }, 4_500],
  ['of the newest offers', { orderBy: [{ field: 'LISTED_AT', direction: 'DESC' }] }, 500],
  ['in the order of reliability', { orderBy: [{ field: 'RELIABILITY', direction: 'DESC' }] }, 4_000],
  ['in the order of free disk', { orderBy: [{ field: 'FREE_DISK_GB', direction: 'DESC' }] }, 4_000],
  ['in the order of free ports', { orderBy: [{ field: 'FREE_PORTS', direction: 'DESC' }] }, 4_000],
  ['in the order of the end of the listing', { orderBy: [{ field: 'LISTED_UNTIL', direction: 'DESC' }] }, 4_000],
])('a search %s reads few of 18,000 offers', async (_what, variables, most) => {
  const query = `query ($filter: OfferFilter, $pricing: OfferPricingInput, $orderBy: [OfferOrder!]! = [{ field: PRICE_PER_HOUR, direction: ASC }]) {
    offers(first: 20, filter: $filter, pricing: $pricing, orderBy: $orderBy) { nodes { id } }
  }`
  // The statement of a search that repeats gets a name, if it has one plan for any values.
  const explained = await explainStatements(async () => {
    for (let count = 0; count < 8; count += 1) expect((await app.graphql(key, query, variables)).errors).toBeUndefined()
  })
  const searches = explained.filter(({ text }) => /WITH page AS/.test(text))
  expect(searches).not.toEqual([])
  for (const { plan, text, mode } of searches) {
    expect(countRowsRead(plan), `${mode} plan: ${text}`).toBeLessThan(most)
  }
  const named = Map.groupBy(
    searches.filter(({ name }) => name !== undefined),
    ({ mode }) => mode,
  )
  // PostgreSQL plans a statement for its values each time as long as it expects less of such a plan.
  const costs = (mode: Explained['mode']) => named.get(mode)?.map(({ plan }) => plan['Total Cost'])
  expect(costs('custom')).toEqual(costs('generic'))
})

it.each([
  ['machines_facts', 'filter: { datacenter: true, motherboard: { contains: "none" } }', 'nodes { id }'],
  ['offers_current_block', 'filter: { datacenter: true, cpuCores: { gte: 8 } }', 'totalCount'],
])('reads in %s alone what it has', async (index, filter, fields) => {
  const explained = await explainStatements(async () => {
    expect((await app.graphql(key, `{ offers(${filter}) { ${fields} } }`)).errors).toBeUndefined()
  })
  const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
  const scans = explained.flatMap(({ plan }) => nodesOf(plan)).filter(node => node['Index Name'] === index)
  expect(scans.map(node => node['Node Type'])).toContain('Index Only Scan')
})
