import { describe, expect, it } from 'vitest'
import { type Balance, creditStatusOf } from '../../../src/domain/billing/balance.ts'
import { type CostMeter, costOf } from '../../../src/domain/billing/costs.ts'
import { runwayAfterAdding, runwayOf } from '../../../src/domain/billing/runway.ts'

const start = Date.parse('2026-11-21T12:00:00.000Z')
const hours = (count: number) => new Date(start + count * 3_600_000)
const gpu: CostMeter = {
  ...{ kind: 'gpu', rateNanos: 400n, since: hours(0), carried: 0, end: null },
  chargedNanos: 1_000n,
}
const disk: CostMeter = { ...gpu, kind: 'disk', rateNanos: 4n, chargedNanos: 10n }
const account = { at: hours(10), endsAt: null }
const valuesOf = (meters: CostMeter[], known: Parameters<typeof costOf>[1] = account) => {
  const { accruedNanos, costPerHourNanos, costPerHourWhenStoppedNanos } = costOf(meters, known)
  return [accruedNanos, costPerHourNanos, costPerHourWhenStoppedNanos]
}

describe('the cost of a resource', () => {
  it('is the posted charges plus the running costs since', () => {
    expect(valuesOf([gpu, disk])).toEqual([1_010n + 4_040n, 404n, 4n])
    expect(valuesOf([])).toEqual([0n, 0n, 0n])
    expect(valuesOf([{ ...gpu, rateNanos: 0n }])).toEqual([1_000n, 0n, 0n])
  })

  it('stops at the end of a meter, past or future', () => {
    expect(valuesOf([{ ...gpu, end: hours(3) }, disk])).toEqual([1_010n + 1_240n, 4n, 4n])
    expect(valuesOf([{ ...gpu, end: hours(10) }])).toEqual([5_000n, 0n, 0n])
    expect(valuesOf([{ ...gpu, end: hours(11) }])).toEqual([5_000n, 400n, 0n])
    // `costOf` does not take back charges after the end.
    expect(valuesOf([{ ...gpu, end: hours(-1) }])).toEqual([1_000n, 0n, 0n])
    expect(valuesOf([{ ...disk, end: hours(3) }])).toEqual([22n, 0n, 0n])
  })

  it('is only the disk after the end of credit', () => {
    expect(valuesOf([gpu, disk], { ...account, endsAt: hours(3) })).toEqual([1_010n + 1_240n, 4n, 4n])
    expect(valuesOf([gpu, disk], { ...account, endsAt: hours(11) })).toEqual([5_050n, 404n, 4n])
    const both = { ...gpu, end: hours(2) }
    expect(valuesOf([both], { ...account, endsAt: hours(3) })).toEqual([1_800n, 0n, 0n])
    expect(valuesOf([both], { ...account, endsAt: hours(1) })).toEqual([1_400n, 0n, 0n])
  })

  it('leaves out a partly used nano-dollar', () => {
    const at = new Date(start + 12_345)
    expect(valuesOf([{ ...gpu, carried: 3_599_999, rateNanos: 1_000n }], { at, endsAt: null })[0]).toBe(1_004n)
    expect(valuesOf([{ ...gpu, rateNanos: 1_000n }], { at, endsAt: null })[0]).toBe(1_003n)
  })
})

const balance: Balance = {
  ...{ at: hours(10), meteredAt: hours(0), postedNanos: 10_000n },
  ...{ gpuRateNanos: 400n, gpuOrigin: 400n * BigInt(start), diskRateNanos: 0n, diskOrigin: 0n },
  ends: [],
}

describe('the runway', () => {
  it('is in whole seconds, 0 after the end of credit, and null when nothing costs anything', () => {
    expect(runwayOf({ endsAt: new Date(start + 1_999) }, hours(0))).toBe(1)
    expect(runwayOf({ endsAt: hours(0) }, hours(1))).toBe(0)
    expect(runwayOf({ endsAt: null }, hours(0))).toBeNull()
  })

  it('counts added rates from now on', () => {
    // 6,000 of 10,000 remain, which last for 12 hours at 500.
    expect(runwayAfterAdding(balance, { gpuPriceNanos: 90n, diskNanos: 10n })).toBe(12 * 3_600)
    expect(runwayAfterAdding(balance, { gpuPriceNanos: 0n, diskNanos: 100n })).toBe(12 * 3_600)
    expect(runwayAfterAdding(balance, { gpuPriceNanos: 0n, diskNanos: 0n })).toBe(15 * 3_600)
    expect(runwayAfterAdding({ ...balance, at: hours(25) }, { gpuPriceNanos: 1_000n, diskNanos: 0n })).toBe(0)
    expect(runwayAfterAdding({ ...balance, at: hours(30) }, { gpuPriceNanos: 1n, diskNanos: 0n })).toBe(0)
  })

  it('is null when the credit would last past the year 9999', () => {
    const tiny = { ...balance, gpuRateNanos: 1n, gpuOrigin: BigInt(start), postedNanos: 10n ** 17n }
    expect(runwayAfterAdding(tiny, { gpuPriceNanos: 0n, diskNanos: 0n })).toBeNull()
    expect(creditStatusOf(tiny)).toMatchObject({ endsAt: null, hasEnded: false, costPerHourNanos: 1n })
  })
})
