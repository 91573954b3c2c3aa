import fc from 'fast-check'
import { afterAll, beforeAll, it } from 'vitest'
import { histories, openScenario, type Scenario } from '../../support/instances/rental-model.ts'

// FC_SEED repeats the commands, but not their interleaving. FC_RUNS makes the run longer. test/long has histories of ten
// times the length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 4)

let scenario: Scenario

beforeAll(async () => {
  scenario = await openScenario()
})

afterAll(() => scenario.close())

it(
  'gives each GPU to one instance at most and loses none, whatever two gateways do at once',
  async () => {
    const property = fc.asyncProperty(histories(100), turns => scenario.run(turns))
    // A failure depends on the interleaving, so shrinking it gains nothing.
    await fc.assert(property, { seed, numRuns, endOnFailure: true })
  },
  30_000 * numRuns,
)
