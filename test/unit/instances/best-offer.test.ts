import { describe, expect, it } from 'vitest'
import { checkRentBestOfferInput, type RentBestOfferInput } from '../../../src/domain/instances/rent/best-offer.ts'
import {
  withoutAvailability,
  withoutOneCondition,
  withoutPriceLimits,
} from '../../../src/domain/instances/rent/no-offer.ts'
import type { Condition, OfferFilter } from '../../../src/domain/offers/filter.ts'

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

const filterBy = (...conditions: Condition[]): OfferFilter => ({ conditions, anyOf: [] })
const inSweden: Condition = { field: 'country', operator: 'eq', value: 'se' }
const cheap: Condition = { field: 'pricePerHour', operator: 'lte', value: 1n }
const dear: Condition = { field: 'pricePerHour', operator: 'gte', value: 1n }
const rentable: Condition = { field: 'rentable', operator: 'eq', value: true }
const passedOver: Condition = { field: 'machineId', operator: 'nin', values: [1] }

describe('a search that found nothing is loosened', () => {
  it('by its upper limits of prices, also in alternatives', () => {
    const filter = { conditions: [inSweden, dear], anyOf: [filterBy(cheap), filterBy(rentable)] }
    expect(withoutPriceLimits(filter)).toEqual({
      conditions: [inSweden, dear],
      anyOf: [filterBy(), filterBy(rentable)],
    })
    expect(withoutPriceLimits(filterBy({ field: 'downloadPricePerGb', operator: 'lt', value: 1n }))).toEqual(filterBy())
  })

  it('by no limit that it does not have', () => {
    expect(withoutPriceLimits(filterBy(inSweden, dear, rentable))).toBeUndefined()
  })

  it('by what others use now, at any price', () => {
    const disk = (field: 'freeDiskGb' | 'totalDiskGb'): Condition => ({ field, operator: 'gte', value: 100 })
    const ports: Condition = { field: 'freePorts', operator: 'gte', value: 2 }
    const filter = filterBy(inSweden, cheap, rentable, disk('freeDiskGb'), ports, passedOver)
    expect(withoutAvailability(filter)).toEqual(filterBy(inSweden, disk('totalDiskGb'), passedOver))
  })

  it('by one condition at a time at any price, but not by those of free machines and of machines that are passed over', () => {
    const conditions = [rentable, inSweden, cheap, dear, passedOver]
    expect(withoutOneCondition({ conditions, anyOf: [filterBy(cheap)] })).toEqual({
      conditions: [rentable, passedOver],
      anyOf: [
        { conditions: [dear], anyOf: [filterBy()] },
        { conditions: [inSweden], anyOf: [filterBy()] },
      ],
    })
  })

  it('by none if it has no other, or too many', () => {
    expect(withoutOneCondition(filterBy(rentable, passedOver))).toBeUndefined()
    expect(withoutOneCondition(filterBy(...Array(8).fill(inSweden)))).toBeDefined()
    expect(withoutOneCondition(filterBy(...Array(9).fill(inSweden)))).toBeUndefined()
  })
})
