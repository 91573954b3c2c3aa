import fc from 'fast-check'
import { afterAll, beforeAll, it } from 'vitest'
import { histories, openScenario, type Scenario } from '../../support/instances/rental-model.ts'

// FC_SEED repeats what is tried, though not how it interleaves; FC_RUNS makes it longer,
// and test/long has histories of ten times the length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 4)

let scenario: Scenario

beforeAll(async () => {
  scenario = await openScenario()
})

afterAll(() => scenario.close())

it(
  'never gives a GPU to two and never loses one, whatever two gateways do at once',
  async () => {
    const property = fc.asyncProperty(histories(100), turns => scenario.run(turns))
    // What fails may not fail again in the same way, so nothing is gained by making it smaller.
    await fc.assert(property, { seed, numRuns, endOnFailure: true })
  },
  30_000 * numRuns,
)
