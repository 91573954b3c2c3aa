import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBuckets } from '../../../src/http/limits/buckets.ts'

type Step = { holder: string; afterMs: number; points: number }
const step = fc.record({
  holder: fc.constantFrom('a', 'b', 'c'),
  afterMs: fc.nat({ max: 5_000 }),
  points: fc.integer({ min: -500, max: 3_000 }),
})

/** Refills bit by bit, each millisecond, in thousandths of a point. */
function createModel(capacity: number, perSecond: number) {
  const levels = new Map<string, number>()
  return {
    pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 1)
        for (const [holder, level] of levels) levels.set(holder, Math.min(capacity * 1_000, level + perSecond))
    },
    levelOf: (holder: string) => (levels.get(holder) ?? capacity * 1_000) / 1_000,
    take(holder: string, points: number) {
      levels.set(holder, Math.min(capacity * 1_000, (levels.get(holder) ?? capacity * 1_000) - points * 1_000))
    },
  }
}

describe('a bucket', () => {
  it('has as many points as one that refills each millisecond', () => {
    const run = (capacity: number, perSecond: number, steps: Step[]) => {
      let nowMs = 0
      const buckets = createBuckets<string>({ capacity, perSecond }, () => nowMs)
      const model = createModel(capacity, perSecond)
      for (const { holder, afterMs, points } of steps) {
        nowMs += afterMs
        model.pass(afterMs)
        expect(buckets.levelOf(holder)).toBeCloseTo(model.levelOf(holder), 5)
        buckets.take(holder, points)
        model.take(holder, points)
        expect(buckets.levelOf(holder)).toBeCloseTo(model.levelOf(holder), 5)
      }
    }
    const rules = [fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1, max: 400 })] as const
    fc.assert(fc.property(...rules, fc.array(step, { maxLength: 20 }), run), { numRuns: 100 })
  })

  it('has the points after the time that it names, and not before', () => {
    const run = (taken: number, wanted: number) => {
      let nowMs = 0
      const buckets = createBuckets<string>({ capacity: 1_000, perSecond: 100 }, () => nowMs)
      buckets.take('a', taken)
      const waitMs = buckets.waitMs('a', wanted)
      const has = () => buckets.levelOf('a') >= Math.min(wanted, 1_000) - 1e-6
      nowMs = waitMs
      expect(has()).toBe(true)
      expect(buckets.waitMs('a', wanted)).toBeLessThan(1e-6)
      nowMs = waitMs - 1
      if (waitMs > 1) expect(has()).toBe(false)
    }
    fc.assert(fc.property(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 3_000 }), run))
  })

  it('gives no more than its capacity and what came back, however often it is asked', () => {
    const run = (asks: { afterMs: number; points: number }[]) => {
      let nowMs = 0
      let granted = 0
      const buckets = createBuckets<string>({ capacity: 1_000, perSecond: 100 }, () => nowMs)
      for (const { afterMs, points } of asks) {
        nowMs += afterMs
        if (buckets.waitMs('a', points) > 0) continue
        buckets.take('a', points)
        granted += points
      }
      expect(granted).toBeLessThanOrEqual(1_000 + nowMs / 10 + 1e-6)
    }
    const ask = fc.record({ afterMs: fc.nat({ max: 3_000 }), points: fc.integer({ min: 1, max: 1_000 }) })
    fc.assert(fc.property(fc.array(ask, { maxLength: 50 }), run))
  })
})
