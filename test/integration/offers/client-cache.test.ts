// A client that caches each object by its id must not show the price of one search in another.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'
import { createNormalizedCache } from '../../support/normalized-cache.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  await listMachines(app.operations, [
    { machine: { numGpus: 2 } },
    { machine: { diskPricePerGbMonthNanos: 720_000_000n } },
  ])
})

afterAll(() => app.close())

async function ask(query: string, variables: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { data, errors } = await app.graphql(key, query, variables)
  expect(errors).toBeUndefined()
  return data
}

const offers = `query ($pricing: OfferPricingInput) { offers(pricing: $pricing) { __typename nodes {
  __typename id numGpus minimumBidPerHour
  price(pricing: $pricing) { rentalKind diskGb pricePerHour pricePerGpuHour gpuPricePerHour diskPricePerHour tflopsPerDollar } } } }`
const defaults =
  'query ($first: Int) { offers(first: $first) { __typename nodes { __typename id price { pricePerHour } } } }'
const volumes = `query ($sizeGb: Float!) { volumeOffers(sizeGb: $sizeGb) { __typename nodes {
  __typename id maxSizeGb price(sizeGb: $sizeGb) { sizeGb pricePerHour } } } }`

it.each([
  ['offers', offers, [{}, { rentalKind: 'INTERRUPTIBLE' }, { diskGb: 100 }].map(pricing => ({ pricing }))],
  ['volume offers', volumes, [{ sizeGb: 1 }, { sizeGb: 20 }, { sizeGb: 7.2 }]],
])('shows each search of %s the prices that the gateway gave it', async (_what, query, searches) => {
  const cache = createNormalizedCache()
  const given = []
  for (const variables of searches) {
    const data = await ask(query, variables)
    cache.write(query, variables, data)
    given.push(data)
  }
  // The searches find the same objects, so each later one could have overwritten the earlier ones.
  expect(
    new Set(
      given.map(data =>
        JSON.stringify(data)
          .match(/"v?of[f]?_\d+"/g)
          ?.toSorted()
          .join(),
      ),
    ).size,
  ).toBe(1)
  expect(new Set(given.map(data => JSON.stringify(data))).size).toBe(searches.length)
  expect(searches.map(variables => cache.read(query, variables))).toEqual(given)
})

it('shows a price without arguments beside a price with arguments', async () => {
  const cache = createNormalizedCache()
  const [plain, large] = [await ask(defaults, { first: 5 }), await ask(offers, { pricing: { diskGb: 500 } })]
  cache.write(defaults, { first: 5 }, plain)
  cache.write(offers, { pricing: { diskGb: 500 } }, large)
  expect(cache.read(defaults, { first: 5 })).toEqual(plain)
  expect(JSON.stringify(plain)).not.toBe(JSON.stringify(large))
})

it('is shown by a cache that would mix a price which no argument names', async () => {
  const cache = createNormalizedCache()
  const query = 'query ($pricing: String) { offers(pricing: $pricing) { nodes { __typename id pricePerHour } } }'
  const answer = (pricePerHour: string) => ({ offers: { nodes: [{ __typename: 'Offer', id: 'off_1', pricePerHour }] } })
  cache.write(query, { pricing: 'a' }, answer('1'))
  cache.write(query, { pricing: 'b' }, answer('2'))
  expect(cache.read(query, { pricing: 'a' })).toEqual(answer('2'))
})
