// What the statements of each request and loop read while the database grows to 16 times its size: a number of rows that does not
// depend on the size. The accounts, their rentals and the machines grow alike; the renter's own rentals stay as many.

import { beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type FilledData, fillWithRentals } from '../../support/database/data-shapes.ts'
import { countRowsRead, type Explained, explainStatements } from '../../support/database/plans.ts'
import { rentalsOf } from '../../support/instances/rentals.ts'

/** How many accounts with 20 rentals each, and machines. */
const sizes = [
  { accounts: 25, machines: 125 },
  { accounts: 100, machines: 500 },
  { accounts: 400, machines: 2_000 },
]

const pages = [
  'instances(first: 50) { nodes { id label status offer { price { pricePerHour } } machine { country } volumes { volume { id } } } }',
  'events(last: 50) { nodes { id kind } }',
  'viewer { account { credit ledger(last: 50) { nodes { id amount } } } }',
  'volumes(first: 50) { nodes { id } }',
  'offers(first: 20) { nodes { id machine { id } } }',
  'offers(first: 20, filter: { verified: true, numGpus: { gte: 2 }, gpuRamMb: { gte: 8000 } }) { nodes { id } }',
  'offers(first: 20, filter: { gpuName: { eq: "RTX 4090" } }) { nodes { id } }',
  'offers(first: 20, orderBy: [{ field: SCORE, direction: DESC }]) { nodes { id } }',
]

/** What a renter and the gateway do most. A text that repeats gets a name, and with it a plan for any values. */
async function runHotPaths(app: TestApp, { renter, machineId }: FilledData): Promise<void> {
  const { converge } = rentalsOf(app)
  for (let count = 0; count < 4; count += 1)
    for (const query of pages) expect((await app.graphql(renter, `{ ${query} }`)).errors).toBeUndefined()
  for (const path of ['/instances/', '/volumes/'])
    expect([path, (await app.rest(renter, 'GET', path)).status]).toEqual([path, 200])
  const search = { machine_id: { eq: machineId }, num_gpus: { eq: 1 }, order: [['dph_total', 'asc']], limit: 1 }
  const [offer] = (await app.rest(renter, 'POST', '/bundles/', search)).body.offers
  const rented = await app.rest(renter, 'PUT', `/asks/${offer.id}/`, { image: 'ubuntu' })
  expect(rented).toMatchObject({ status: 200 })
  await converge()
  const path = `/instances/${rented.body.new_contract}/`
  for (const body of [{ label: 'hot' }, { state: 'stopped' }, { state: 'running' }]) {
    expect(await app.rest(renter, 'PUT', path, body)).toMatchObject({ status: 200 })
    await converge()
  }
  expect(await app.rest(renter, 'DELETE', path)).toMatchObject({ status: 200 })
  await converge()
}

/** Rows that a statement may read in any of the databases: the scan of a table that is small where it is scanned. */
const mostRows = 5_000
/** Rows that it may read in the largest database, or as many as in a smaller one. Each table of rentals has thousands. */
const fewRows = 1_200
/** Compares all simulated containers with their instances, once a minute. No machine that is not simulated has them. */
const ofSimulation = /^\s*DELETE FROM simulated_containers WHERE instance_id IN/

/** The most rows that a statement reads with any of its values, by its plan's mode and its text. */
function readsOf(explained: Explained[]): Map<string, number> {
  const reads = new Map<string, number>()
  for (const { text, mode, plan } of explained) {
    if (ofSimulation.test(text)) continue
    const key = `${mode} plan: ${text}`
    reads.set(key, Math.max(reads.get(key) ?? 0, countRowsRead(plan)))
  }
  return reads
}

describe('while the database grows to 16 times its size, each hot statement', () => {
  const all: Map<string, number>[] = []

  beforeAll(async () => {
    for (const { accounts, machines } of sizes) {
      const app = await startApp()
      try {
        const data = await fillWithRentals(app, [{ accounts, rentalsEach: 20 }], machines)
        all.push(readsOf(await explainStatements(() => runHotPaths(app, data))))
      } finally {
        await app.close()
      }
    }
  }, 120_000)

  it('reads a bounded number of rows at each size', () => {
    const wide = all.flatMap(reads => [...reads].filter(([, rows]) => rows > mostRows))
    expect(wide).toEqual([])
    for (const reads of all) expect(reads.size).toBeGreaterThan(100)
  })

  it('reads no more rows in the largest database than in a smaller one, or few', () => {
    const [small, middle, large] = all as [Map<string, number>, Map<string, number>, Map<string, number>]
    const before = (key: string) => Math.max(small.get(key) ?? 0, middle.get(key) ?? 0)
    const grown = [...large].filter(([key, rows]) => rows > Math.max(fewRows, before(key)))
    expect(grown).toEqual([])
  })
})
