import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countBuckets, maxBuckets, splitIntoBuckets } from '../../../src/domain/billing/usage.ts'

const instant = fc.integer({ min: -100 * 86_400_000, max: 20_000 * 86_400_000 })
const periods = fc.record({
  start: instant,
  ms: fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 300 * 86_400_000 })),
  bucket: fc.constantFrom('hour' as const, 'day' as const, 'month' as const),
})

describe('the buckets of a period', () => {
  it('are the hours, days or months that overlap it, in order', () => {
    const property = fc.property(periods, ({ start, ms, bucket }) => {
      const period = { startsAt: new Date(start), endsAt: new Date(start + ms), bucket }
      fc.pre(countBuckets(period) <= maxBuckets)
      const buckets = splitIntoBuckets(period)
      expect(buckets).toHaveLength(countBuckets(period))
      expect([buckets[0]?.startsAt, buckets.at(-1)?.endsAt]).toEqual([period.startsAt, period.endsAt])
      const size = { hour: 13, day: 10, month: 7 }[bucket]
      const names = buckets.map(({ startsAt: start, endsAt: end }) => {
        expect(start < end).toBe(true)
        const [first, last] = [start, new Date(end.getTime() - 1)].map(one => one.toISOString().slice(0, size))
        expect(first).toBe(last)
        return first
      })
      expect(new Set(names).size).toBe(buckets.length)
      for (const [index, { endsAt }] of buckets.slice(0, -1).entries())
        expect(endsAt).toEqual(buckets[index + 1]?.startsAt)
    })
    fc.assert(property)
  })

  it('are at most 744', () => {
    const startsAt = new Date('2026-10-01T00:00:00.000Z')
    const to = (ms: number) => new Date(Date.parse('2026-11-01T00:00:00.000Z') + ms)
    expect(splitIntoBuckets({ startsAt, endsAt: to(0), bucket: 'hour' })).toHaveLength(744)
    expect(() => splitIntoBuckets({ startsAt, endsAt: to(1), bucket: 'hour' })).toThrow(
      'splits the period into 745 hours',
    )
    expect(splitIntoBuckets({ startsAt, endsAt: to(1), bucket: 'day' })).toHaveLength(32)
  })

  it('are none for a period that ends before it begins', () => {
    const now = new Date('2026-10-01T00:30:00.000Z')
    expect(countBuckets({ startsAt: now, endsAt: now, bucket: 'hour' })).toBe(0)
    expect(() => splitIntoBuckets({ startsAt: now, endsAt: now, bucket: 'hour' })).toThrow(
      'must be later than "startsAt".',
    )
  })
})
