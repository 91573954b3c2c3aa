import { describe, expect, it } from 'vitest'
import { checkRentBestOfferInput, type RentBestOfferInput } from '../../../src/domain/instances/rent/best-offer.ts'
import type { Condition } from '../../../src/domain/offers/filter.ts'

const bidNanos = 300_000_000n
const problemsOf = (input: Partial<RentBestOfferInput>) => {
  const terms = { interruptible: true, bidNanos } as const
  const filter = { conditions: [], anyOf: [] }
  try {
    checkRentBestOfferInput({ filter, order: [], terms, launch: { image: 'ubuntu' }, maxAttempts: 1, ...input })
    return []
  } catch (error) {
    return (error as { details: { issues: { path: string }[] } }).details.issues.map(({ path }) => path)
  }
}

describe('a bid of $0.30 an hour', () => {
  it.each<[string, Condition, string[]]>([
    ['a total of less', { field: 'pricePerHour', operator: 'lte', value: bidNanos - 1n }, ['bid']],
    ['a total of as much', { field: 'pricePerHour', operator: 'lte', value: bidNanos }, []],
    ['a total below it', { field: 'pricePerHour', operator: 'lt', value: bidNanos }, ['bid']],
    ['a total below a little more', { field: 'pricePerHour', operator: 'lt', value: bidNanos + 1n }, []],
    ['a price of its GPUs of less', { field: 'gpuPricePerHour', operator: 'lte', value: bidNanos - 1n }, ['bid']],
    ['a least total', { field: 'pricePerHour', operator: 'gte', value: bidNanos - 1n }, []],
    ['totals in a list', { field: 'pricePerHour', operator: 'in', values: [bidNanos - 1n] }, []],
    ['another price', { field: 'minimumBidPerHour', operator: 'lte', value: bidNanos - 1n }, []],
  ])('is compared with %s in the search', (_, condition, expected) => {
    expect(problemsOf({ filter: { conditions: [condition], anyOf: [] } })).toEqual(expected)
  })
})

it('a search for interruptible offers needs a bid', () => {
  expect(problemsOf({ type: 'interruptible', terms: { interruptible: false } })).toEqual(['bid'])
  expect(problemsOf({ type: 'interruptible' })).toEqual([])
  expect(problemsOf({ type: 'onDemand', terms: { interruptible: false } })).toEqual([])
})

it.each([
  [0, ['maxAttempts']],
  [1, []],
  [50, []],
  [51, ['maxAttempts']],
])('%i attempts are allowed or not', (maxAttempts, expected) => {
  expect(problemsOf({ maxAttempts })).toEqual(expected)
})
