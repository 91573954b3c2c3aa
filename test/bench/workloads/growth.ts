import { createRandom } from '../../../prisma/seeded-random.ts'
import type { OfferField } from '../../../src/domain/offers/fields.ts'
import { orderFields } from '../../../src/graphql/offers/order-fields.ts'
import type { HttpRequest } from '../measure/connection.ts'
import { graphqlRequest } from './requests.ts'

/** A search that is measured in a small and in a large market. Its values differ from request to request. */
export type GrowthSearch = {
  title: string
  /** The number of offers before the page. A page behind the first needs the cursor of the page before it. */
  offersBefore: number
  request(run: number, index: number, cursor?: string): HttpRequest
}

type Random = ReturnType<typeof createRandom>
type Filter = (random: Random) => object

const models = ['RTX 3090', 'RTX 4090', 'RTX 5090', 'RTX A6000', 'L40S', 'A100 SXM4', 'H100 SXM', 'H200']
const accounts = 16
const rows = 20

const filters: Record<string, Filter> = {
  'no filter': () => ({}),
  'six filters': random => ({
    gpuName: { in: [random.pick(models), random.pick(models)] },
    gpuRamMb: { gte: random.pick([8_000, 16_000, 24_000]) },
    numGpus: { gte: random.pick([1, 1, 2, 4]) },
    reliability: { gte: random.pick([0.9, 0.92, 0.95]) },
    pricePerHour: { lte: random.pick(['2', '8', '30']) },
    verified: true,
  }),
  'one model': random => ({ gpuName: { eq: random.pick(models) } }),
  'or of three': random => ({
    or: [
      { gpuName: { eq: random.pick(models) }, numGpus: { eq: 1 } },
      { gpuName: { eq: random.pick(models) }, reliability: { gte: 0.95 } },
      { gpuRamMb: { gte: 80_000 }, numGpus: { gte: 4 } },
    ],
  }),
  'country and datacenter': random => ({
    country: { in: [random.pick(['US', 'DE', 'JP'])] },
    datacenter: true,
  }),
  'machine facts': random => ({
    downloadMbps: { gte: random.pick([9_000, 9_500]) },
    cpuRamMb: { gte: 900_000 },
    staticIp: true,
  }),
  'very selective': random => ({
    gpuName: { eq: random.pick(models) },
    country: { in: [random.pick(['SE', 'NO', 'JP'])] },
    downloadMbps: { gte: 9_000 },
    cpuCores: { gte: 128 },
  }),
  'no match of an offer': () => ({ country: { in: ['ZZ'] } }),
  'no match of a machine': () => ({ downloadMbps: { gte: 100_000 } }),
  'no match of two facts': () => ({ datacenter: true, motherboard: { contains: 'none' } }),
}

const pricings = {
  'a disk of 200 GB': { diskGb: 200 },
  'a disk of 1 GB': { diskGb: 1 },
  bids: { rentalKind: 'INTERRUPTIBLE' },
}

const query = `query ($rows: Int!, $after: String, $filter: OfferFilter, $pricing: OfferPricingInput, $orderBy: [OfferOrder!]!) {
  offers(first: $rows, after: $after, filter: $filter, pricing: $pricing, orderBy: $orderBy) {
    pageInfo { endCursor }
    nodes { id numGpus price { pricePerHour } dlperf score gpu { name gpuRamMb } machine { id country downloadMbps } }
  }
}`
const countQuery = 'query ($filter: OfferFilter) { offers(filter: $filter) { totalCount } }'
const facetsQuery = `query ($filter: OfferFilter) {
  offers(filter: $filter) { facets(by: [GPU_NAME, COUNTRY]) { values { value count } } }
}`

export const cheapestFirst = [{ field: 'PRICE_PER_HOUR', direction: 'ASC' }]

/** A request for a page of a search without a filter. */
export function pageRequest(size: number, after?: string): HttpRequest {
  return graphqlRequest(query, { rows: size, after, orderBy: cheapestFirst }, 1)
}

export function growthSearches(): GrowthSearch[] {
  const filtered = Object.entries(filters)
  return [
    ...filtered.map(([title, filter]) => search(title, query, filter)),
    { ...search('page 200', query, () => ({})), offersBefore: 199 * rows },
    ...Object.entries(pricings).map(([title, pricing]) => search(title, query, () => ({}), { pricing })),
    search('one model, a disk of 200 GB', query, filters['one model'] as Filter, { pricing: { diskGb: 200 } }),
    ...filtered.map(([title, filter]) => search(`count: ${title}`, countQuery, filter)),
    search('facets: one model', facetsQuery, filters['one model'] as Filter),
    search('facets: no filter', facetsQuery, () => ({})),
    ...Object.entries(orderFields).map(([name, { value }]) => {
      const orderBy = [{ field: name, direction: isBetterIfLess(value) ? 'ASC' : 'DESC' }]
      return search(`order: ${value}`, query, () => ({}), { orderBy })
    }),
  ]
}

function isBetterIfLess(field: OfferField): boolean {
  return /price|bid|temp|power/i.test(field) && !/dollar/i.test(field)
}

function search(title: string, text: string, filter: Filter, variables: object = {}): GrowthSearch {
  return {
    title,
    offersBefore: 0,
    request(run, index, after) {
      const random = createRandom(2, run, index)
      return graphqlRequest(
        text,
        { rows, after, filter: filter(random), orderBy: cheapestFirst, ...variables },
        random.whole(1, accounts),
      )
    },
  }
}
