import { describe, expect, it } from 'vitest'
import { advanceMeterTo, type CostMeter, calculateCostLimitInstant, costAt } from '../../../src/domain/billing/costs.ts'

const start = new Date('2026-11-21T12:00:00.000Z')
const later = (ms: number) => new Date(start.getTime() + ms)
/** At this rate, a millisecond costs one nano-dollar. */
const nanoPerMs = 3_600_000n

const aMeter = (facts: Partial<CostMeter> = {}): CostMeter => ({
  kind: 'gpu',
  rateNanos: nanoPerMs,
  since: start,
  carried: 0,
  chargedNanos: 0n,
  end: null,
  ...facts,
})

describe('the cost of meters until an instant', () => {
  it('is the posted charges plus the running costs since', () => {
    const meters = [aMeter({ chargedNanos: 10n }), aMeter({ kind: 'disk', rateNanos: 2n * nanoPerMs, since: later(5) })]
    expect(costAt(meters, later(8))).toBe(10n + 8n + 6n)
  })

  it('counts each meter in whole nano-dollars, with its carried parts', () => {
    const half = aMeter({ rateNanos: nanoPerMs / 2n })
    expect(costAt([half, half], later(1))).toBe(0n)
    expect(costAt([{ ...half, carried: 1_800_000 }, half], later(1))).toBe(1n)
  })

  it('stops at the end of a meter and never falls when the clock steps back', () => {
    expect(costAt([aMeter({ end: later(3) })], later(8))).toBe(3n)
    expect(costAt([aMeter({ chargedNanos: 4n })], later(-8))).toBe(4n)
  })

  it('continues from the last charge', () => {
    const meter = aMeter({ rateNanos: nanoPerMs / 2n + 1n, carried: 7 })
    const charged = advanceMeterTo(meter, later(9))
    expect(charged).toMatchObject({ since: later(9), chargedNanos: 4n })
    for (const ms of [9, 10, 11, 5000]) expect(costAt([charged], later(ms))).toBe(costAt([meter], later(ms)))
  })
})

describe('the instant of a cost limit', () => {
  it('is the last millisecond at which the cost is within the limit', () => {
    expect(calculateCostLimitInstant([aMeter()], 10n)).toEqual(later(10))
    expect(calculateCostLimitInstant([aMeter({ rateNanos: nanoPerMs * 3n })], 10n)).toEqual(later(3))
    expect(calculateCostLimitInstant([aMeter({ carried: 1 })], 10n)).toEqual(later(9))
  })

  it('counts each meter from its own start', () => {
    const meters = [aMeter({ chargedNanos: 2n, since: later(4) }), aMeter({ kind: 'disk', since: start })]
    // The cost is 2 + 4 at that instant, and grows by 2 each millisecond from then on.
    expect(calculateCostLimitInstant(meters, 6n)).toEqual(later(4))
    expect(calculateCostLimitInstant(meters, 5n)).toEqual(later(3))
    expect(calculateCostLimitInstant(meters, 12n)).toEqual(later(7))
  })

  it('counts a meter only until its end', () => {
    const meters = [aMeter({ end: later(5) }), aMeter({ kind: 'disk' })]
    expect(calculateCostLimitInstant(meters, 8n)).toEqual(later(4))
    expect(calculateCostLimitInstant(meters, 14n)).toEqual(later(9))
    expect(calculateCostLimitInstant([aMeter({ end: later(5) })], 14n)).toBeNull()
    expect(calculateCostLimitInstant([aMeter({ end: later(-5), chargedNanos: 3n })], 3n)).toBeNull()
  })

  it('is in the past when the cost exceeds the limit already', () => {
    const end = calculateCostLimitInstant(
      [aMeter({ chargedNanos: 11n, since: later(100) }), aMeter({ kind: 'disk', since: later(90) })],
      10n,
    )
    expect(end?.getTime()).toBeLessThanOrEqual(later(90).getTime())
  })

  it('never comes when the meters cost nothing, or too little for any date', () => {
    expect(calculateCostLimitInstant([], 1n)).toBeNull()
    expect(calculateCostLimitInstant([aMeter({ rateNanos: 0n })], 1n)).toBeNull()
    expect(calculateCostLimitInstant([aMeter({ rateNanos: 1n })], 999_999_999_000_000_000n)).toBeNull()
  })
})
