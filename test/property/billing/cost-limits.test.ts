import fc from 'fast-check'
import { expect, it } from 'vitest'
import { advanceMeterTo, type CostMeter, calculateCostLimitInstant, costAt } from '../../../src/domain/billing/costs.ts'

const start = Date.parse('2026-11-21T12:00:00.000Z')
const ms = fc.integer({ min: 0, max: 40 * 86_400_000 })
const instant = ms.map(after => new Date(start + after))
const meter = (kind: CostMeter['kind']) =>
  fc.record({
    kind: fc.constant(kind),
    rateNanos: fc.bigInt({ min: 0n, max: 128_000_000_000n }),
    since: instant,
    carried: fc.integer({ min: 0, max: 3_599_999 }),
    chargedNanos: fc.bigInt({ min: 0n, max: 50_000_000_000n }),
    end: fc.option(instant),
  })
const meters = fc.tuple(meter('gpu'), meter('disk'))
const limit = fc.bigInt({ min: 1n, max: 200_000_000_000n })

/** The cost of the meters without rounding, in parts: 3,600,000 parts make a nano-dollar. */
const exactly = (all: CostMeter[], at: number) =>
  all.reduce((sum, { chargedNanos, carried, rateNanos, since, end }) => {
    const until = Math.min(at, end?.getTime() ?? at)
    return sum + chargedNanos * 3_600_000n + BigInt(carried) + rateNanos * BigInt(Math.max(0, until - since.getTime()))
  }, 0n)

it('finds the last millisecond at which a cost is within its limit', () => {
  fc.assert(
    fc.property(meters, limit, (all, nanos) => {
      const most = nanos * 3_600_000n
      const end = calculateCostLimitInstant(all, nanos)
      const first = Math.min(...all.map(({ since }) => since.getTime()))
      if (end === null) {
        expect(exactly(all, Date.parse('9999-12-31T23:59:59Z'))).toBeLessThanOrEqual(most)
        return
      }
      expect(exactly(all, end.getTime() + 1)).toBeGreaterThan(most)
      // If the cost exceeds the limit before anything runs, any earlier instant is valid.
      if (exactly(all, first) <= most) {
        expect(exactly(all, end.getTime())).toBeLessThanOrEqual(most)
        expect(costAt(all, end)).toBeLessThanOrEqual(nanos)
      }
    }),
    { numRuns: 2_000 },
  )
})

it('finds the same instant no matter what was charged before', () => {
  fc.assert(
    fc.property(meters, limit, ms, (all, nanos, after) => {
      const end = calculateCostLimitInstant(all, nanos)
      if (end === null || exactly(all, start) > nanos * 3_600_000n) return
      const at = new Date(Math.min(start + after, end.getTime()))
      const charged = all.map(one => (one.since <= at ? { ...advanceMeterTo(one, at), end: one.end } : one))
      expect(calculateCostLimitInstant(charged, nanos)).toEqual(end)
    }),
    { numRuns: 2_000 },
  )
})
