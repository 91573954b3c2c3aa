import fc from 'fast-check'
import { afterAll, beforeAll, it } from 'vitest'
import { histories, openSite, type Site } from '../support/instances/rentals-model.ts'

// FC_SEED repeats what is tried, though not how it interleaves; FC_RUNS makes it longer.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 3)

let site: Site

beforeAll(async () => {
  site = await openSite()
})

afterAll(() => site.close())

it('keeps every GPU through a thousand deeds of two gateways', async () => {
  const property = fc.asyncProperty(histories(1_000), turns => site.run(turns))
  await fc.assert(property, { seed, numRuns, endOnFailure: true })
})
