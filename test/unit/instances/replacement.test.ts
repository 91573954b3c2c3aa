import { expect, it } from 'vitest'
import { printWithin, replaceIssues } from '../../../src/domain/instances/policy/replacement.ts'
import { type RentBestOfferInput, replacementOf, searchOf } from '../../../src/domain/instances/rent/best-offer.ts'

const input: RentBestOfferInput = {
  filter: {
    conditions: [
      { field: 'pricePerHour', operator: 'lte', value: 250_000_001n },
      { field: 'cudaVersion', operator: 'gte', value: '12.10' },
      { field: 'machineId', operator: 'nin', values: [1, 2] },
    ],
    anyOf: [{ conditions: [{ field: 'verified', operator: 'eq', value: true }], anyOf: [] }],
  },
  order: [{ field: 'reliability', direction: 'desc' }],
  terms: { interruptible: true, bidNanos: 300_000_000n },
  launch: { image: 'ubuntu' },
  maxAttempts: 7,
  replace: { within: '10m', attempts: 3 },
}

it('keeps the search as it was, through JSON', () => {
  const { launch: _, replace: __, ...search } = input
  const stored = JSON.parse(JSON.stringify(replacementOf(input)))
  expect(searchOf(stored)).toEqual(search)
})

it('allows as many more rentals as are left after the first', () => {
  expect(replacementOf(input)).toMatchObject({ withinSeconds: 600, attemptsLeft: 2 })
  expect(replacementOf({ ...input, replace: undefined })).toBeUndefined()
})

it.each([
  ['90s', 90],
  ['1m', 60],
  ['15m', 900],
  ['1h', 3_600],
])('reads and prints %s', (within, seconds) => {
  const replacement = replacementOf({ ...input, replace: { within, attempts: 2 } })
  expect(replacement?.withinSeconds).toBe(seconds)
  expect(printWithin(seconds)).toBe(within)
})

it.each(['', '10', 'm', '0m', '-5m', '1.5m', '10 m', '10M', '59s', '61m', '2h', '999999s'])(
  'refuses the time "%s"',
  within => {
    expect(replaceIssues({ within, attempts: 3 }, {})).toMatchObject([{ path: 'replace.within' }])
  },
)
