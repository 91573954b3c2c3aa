import fc from 'fast-check'
import { afterAll, beforeAll, it } from 'vitest'
import { histories, openScenario, type Scenario } from '../support/instances/rental-model.ts'

// FC_SEED repeats what is tried, though not how it interleaves; FC_RUNS makes it longer.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 3)

let site: Scenario

beforeAll(async () => {
  site = await openScenario()
})

afterAll(() => site.close())

it('keeps every GPU through a thousand deeds of two gateways', async () => {
  const property = fc.asyncProperty(histories(1_000), turns => site.run(turns))
  await fc.assert(property, { seed, numRuns, endOnFailure: true })
})
