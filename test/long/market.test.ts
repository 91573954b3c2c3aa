import fc from 'fast-check'
import { afterAll, beforeAll, it } from 'vitest'
import { marketHistories } from '../support/machines/market-model.ts'
import { openMarketSite } from '../support/machines/market-site.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 500)

let site: Awaited<ReturnType<typeof openMarketSite>>

beforeAll(async () => {
  site = await openMarketSite()
})

afterAll(() => site.close())

it('grants every GPU by the rules, through long histories', async () => {
  const property = fc.asyncProperty(marketHistories(60), history => site.run(history))
  await fc.assert(property, { seed, numRuns })
})
