import fc from 'fast-check'
import { afterAll, beforeAll, it } from 'vitest'
import { histories, openScenario, type Scenario } from '../support/instances/rental-model.ts'

// FC_SEED repeats the actions of a run, but not how they interleave. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 3)

let site: Scenario

beforeAll(async () => {
  site = await openScenario()
})

afterAll(() => site.close())

it('never shares a GPU through a thousand actions of two gateways', async () => {
  const property = fc.asyncProperty(histories(1_000), turns => site.run(turns))
  await fc.assert(property, { seed, numRuns, endOnFailure: true })
})
