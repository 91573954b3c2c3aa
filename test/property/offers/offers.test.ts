import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/client.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { regionOf } from '../../../src/domain/machines/regions.ts'
import { type Facet, type FacetField, facetFields } from '../../../src/domain/offers/facets.ts'
import {
  type FieldValue,
  fieldTypeOf,
  fieldValueOf,
  type OfferField,
  offerFields,
} from '../../../src/domain/offers/fields.ts'
import { type Condition, parseCondition } from '../../../src/domain/offers/filter.ts'
import { defaultPricing, type Offer, priceOffer } from '../../../src/domain/offers/offers.ts'
import type { PageResult } from '../../../src/domain/pages.ts'
import { type OfferSearch, offerReadServices } from '../../../src/services/offers/offers.ts'
import { wholeOffer } from '../../../src/services/offers/sql/source.ts'
import { filterArbitrary, orderArbitrary, pricingArbitrary } from '../../support/arbitraries.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { urlAs } from '../../support/database/roles.ts'
import { makeMarket, searchInMemory } from '../../support/machines/market.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 200)
const timeout = 20_000 + 100 * numRuns

type OfferReads = ReturnType<typeof offerReadServices>

const actor: Actor = { accountId: 1, apiKeyId: 1, publicId: '', permissions: null }
const clock = manualClock()
let testDatabase: TestDatabase
let database: Database
let offers: OfferReads
/** A search that reads little of the market takes the ways of a search in a large market. */
const readLimits = fc.record({ offers: fc.nat(60), machines: fc.nat(20), count: fc.nat(300) })
let market: Offer[]

beforeAll(async () => {
  testDatabase = await createDatabase()
  database = openDatabase({ url: urlAs('app', testDatabase.url), poolSize: 2, onIdleError: () => {}, now: clock.now })
  offers = offerReadServices({ database })
  market = await makeMarket(database, clock, seed, 40)
})

afterAll(async () => {
  await database.close()
  await testDatabase.drop()
})

function searches(): fc.Arbitrary<OfferSearch> {
  return fc.record({
    filter: filterArbitrary(market),
    order: orderArbitrary,
    pricing: pricingArbitrary,
    bundled: fc.boolean(),
  })
}

const idsOf = (offers: { id: bigint }[]) => offers.map(({ id }) => id)

it(
  'finds the same offers in SQL as by filtering and sorting in memory',
  async () => {
    const property = fc.asyncProperty(
      searches(),
      fc.constantFrom(1, 2, 5, 20, 300),
      readLimits,
      async (search, limit, limits) => {
        const offers = offerReadServices({ database }, limits)
        const expected = searchInMemory(market, search)
        const found = await offers.search(actor, search, limit, wholeOffer)
        expect(idsOf(found)).toEqual(idsOf(expected.slice(0, limit)))
        const prices = found.map(offer => priceOffer(offer, search.pricing).price)
        expect(prices).toEqual(expected.slice(0, limit).map(({ price }) => price))
        expect(await offers.count(actor, search)).toEqual({
          count: Math.min(expected.length, limits.count),
          isExact: expected.length <= limits.count,
        })
      },
    )
    await fc.assert(property, { seed, numRuns })
  },
  timeout,
)

it.each(Object.keys(offerFields) as OfferField[])('filters by %s in SQL as in memory', async field => {
  const isMissing = (value: FieldValue) => fieldTypeOf(field) === 'version' && value === ''
  const values = market.slice(0, 5).map(offer => fieldValueOf(offer, field))
  for (const operand of new Set(values.filter(value => !isMissing(value)))) {
    const condition = parseCondition(field, 'eq', operand) as Condition
    const search = {
      filter: { conditions: [condition], anyOf: [] },
      order: [],
      pricing: defaultPricing,
      bundled: false,
    }
    expect(idsOf(await offers.search(actor, search, market.length, wholeOffer))).toEqual(
      idsOf(searchInMemory(market, search)),
    )
  }
})

it(
  'cuts a list into pages that neither repeat nor skip, in both directions',
  async () => {
    const property = fc.asyncProperty(
      searches(),
      fc.integer({ min: 1, max: 30 }),
      readLimits,
      async (search, size, limits) => {
        const offers = offerReadServices({ database }, limits)
        const expected = idsOf(searchInMemory(market, search))
        expect(await readForwards(offers, search, size)).toEqual(expected)
        expect(await readBackwards(offers, search, size)).toEqual(expected)
      },
    )
    await fc.assert(property, { seed, numRuns: numRuns / 10 })
  },
  timeout,
)

it(
  'counts the values of facets, and finds their least prices, as in memory',
  async () => {
    const fields = fc.uniqueArray(fc.constantFrom(...facetFields), { minLength: 1 })
    const property = fc.asyncProperty(searches(), fields, async (search, by) => {
      const expected = searchInMemory(market, search)
      expect(await offers.facets(actor, search, by)).toEqual(by.map(field => facetInMemory(expected, field)))
    })
    await fc.assert(property, { seed, numRuns })
  },
  timeout,
)

function facetInMemory(found: Offer[], field: FacetField): Facet {
  const textOf = (offer: Offer) =>
    field === 'region' ? regionOf(offer.machine.country) : String(fieldValueOf(offer, field))
  const groups = Map.groupBy(found, textOf)
  groups.delete(null)
  const values = [...groups].map(([value, same]) => {
    const prices = same.map(({ price }) => price.totalNanos).toSorted((a, b) => Number(a - b))
    return { value: String(value), count: same.length, minimumPriceNanos: prices[0] ?? 0n }
  })
  return { field, values: values.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)) }
}

async function readForwards(offers: OfferReads, search: OfferSearch, size: number): Promise<bigint[]> {
  const ids: bigint[] = []
  let page: PageResult<{ id: bigint }> | undefined
  do {
    page = await offers.page(actor, search, { first: size, after: page?.edges.at(-1)?.cursor }, { id: true })
    ids.push(...page.edges.map(({ node }) => node.id))
  } while (page.hasNextPage)
  return ids
}

async function readBackwards(offers: OfferReads, search: OfferSearch, size: number): Promise<bigint[]> {
  const ids: bigint[] = []
  let page: PageResult<{ id: bigint }> | undefined
  do {
    page = await offers.page(actor, search, { last: size, before: page?.edges[0]?.cursor }, { id: true })
    ids.unshift(...page.edges.map(({ node }) => node.id))
  } while (page.hasPreviousPage)
  return ids
}
