import { describe, expect, it } from 'vitest'
import {
  type Balance,
  calculateCharge,
  calculateChargedAfter,
  calculateCreditEnd,
  calculateMeterCharge,
  creditStatusOf,
} from '../../../src/domain/billing/balance.ts'

const start = new Date('2026-11-21T12:00:00.000Z')
const hour = 3_600_000
const dollar = 1_000_000_000n
const later = (ms: number) => new Date(start.getTime() + ms)
const originOf = (rateNanos: bigint, since: Date, carried = 0n) => rateNanos * BigInt(since.getTime()) - carried

/** GPUs for $0.40 an hour and a disk for $0.05, both since `start`, in an account with $1. */
function aBalance(overrides: Partial<Balance> = {}): Balance {
  const { gpuRateNanos = 400_000_000n, diskRateNanos = 50_000_000n } = overrides
  return {
    at: start,
    meteredAt: start,
    postedNanos: dollar,
    gpuRateNanos,
    gpuOrigin: originOf(gpuRateNanos, start),
    diskRateNanos,
    diskOrigin: originOf(diskRateNanos, start),
    ends: [],
    ...overrides,
  }
}
const nothing = { gpuRateNanos: 0n, diskRateNanos: 0n }

describe('a charge', () => {
  it('is the rate times the time', () => {
    expect(calculateCharge(400_000_000n, hour, 0)).toEqual({ amountNanos: 400_000_000n, carried: 0 })
    expect(calculateCharge(400_000_000n, 90_000, 0)).toEqual({ amountNanos: 10_000_000n, carried: 0 })
    expect(calculateCharge(0n, hour, 0)).toEqual({ amountNanos: 0n, carried: 0 })
  })

  it('carries the part that makes no whole nano-dollar', () => {
    expect(calculateCharge(400_000_000n, 1, 0)).toEqual({ amountNanos: 111n, carried: 400_000 })
    expect(calculateCharge(400_000_000n, 1, 3_200_000)).toEqual({ amountNanos: 112n, carried: 0 })
    expect(calculateCharge(1n, hour - 1, 0)).toEqual({ amountNanos: 0n, carried: 3_599_999 })
    expect(calculateCharge(1n, 1, 3_599_999)).toEqual({ amountNanos: 1n, carried: 0 })
    expect(calculateCharge(0n, hour, 3_599_999)).toEqual({ amountNanos: 0n, carried: 3_599_999 })
  })

  it('is exact for amounts beyond the precision of a number', () => {
    const eightFor128 = 8n * 128n * dollar
    expect(calculateCharge(eightFor128 + 1n, 31 * 24 * hour + 1, 0)).toEqual({
      amountNanos: (eightFor128 + 1n) * 744n + 284_444n,
      carried: 1_600_001,
    })
  })
})

describe('the charge for a period', () => {
  const meter = { rateNanos: 400_000_000n, since: start, carried: 3_200_000, end: null }

  it('continues from the last charge with its carried parts', () => {
    const { rateNanos, carried } = meter
    const period = { periodStart: start, periodEnd: later(1), ms: 1 }
    expect(calculateMeterCharge(meter, later(1))).toEqual({ ...period, rateNanos, carried, amountNanos: 112n })
  })

  it('stops at the end of the meter', () => {
    const ended = { ...meter, carried: 0, end: later(90_000) }
    const whole = { periodEnd: later(90_000), ms: 90_000, amountNanos: 10_000_000n }
    expect(calculateMeterCharge(ended, later(hour))).toMatchObject(whole)
    expect(calculateMeterCharge(ended, later(90_000))).toMatchObject(whole)
    expect(calculateMeterCharge(ended, later(9_000))).toMatchObject({
      periodEnd: later(9_000),
      ms: 9_000,
      amountNanos: 1_000_000n,
    })
  })

  it('is never negative when the clock steps back or the meter ended before its last charge', () => {
    const none = { ms: 0, amountNanos: 0n }
    expect(calculateMeterCharge(meter, later(-hour))).toMatchObject(none)
    expect(calculateMeterCharge(meter, start)).toMatchObject(none)
    expect(calculateMeterCharge({ ...meter, end: later(-hour) }, later(hour))).toMatchObject(none)
  })

  it('is refunded only for the time after a given instant', () => {
    const charged = calculateMeterCharge(meter, later(hour))
    expect(calculateChargedAfter(charged, later(hour))).toBe(0n)
    expect(calculateChargedAfter(charged, later(1))).toBe(charged.amountNanos - 112n)
    expect(calculateChargedAfter(charged, start)).toBe(charged.amountNanos)
    expect(calculateChargedAfter(charged, later(-hour))).toBe(charged.amountNanos)
  })
})

describe('the end of credit', () => {
  it('is the last millisecond that credit pays for', () => {
    // $1 / $0.45/h = 8,000,000 ms.
    expect(calculateCreditEnd(aBalance())).toEqual(later(8_000_000))
    // A millisecond costs 125 nano-dollars.
    expect(calculateCreditEnd(aBalance({ postedNanos: dollar + 124n }))).toEqual(later(8_000_000))
    expect(calculateCreditEnd(aBalance({ postedNanos: dollar + 125n }))).toEqual(later(8_000_001))
  })

  it('never comes when nothing costs anything', () => {
    expect(calculateCreditEnd(aBalance(nothing))).toBeNull()
    expect(calculateCreditEnd(aBalance({ ...nothing, postedNanos: 0n }))).toBeNull()
  })

  it('is now for an account without credit', () => {
    expect(calculateCreditEnd(aBalance({ postedNanos: 0n }))).toEqual(start)
    expect(calculateCreditEnd(aBalance({ postedNanos: -1n }))).toEqual(start)
    expect(calculateCreditEnd(aBalance({ ...nothing, postedNanos: -1n }))).toEqual(start)
    expect(calculateCreditEnd(aBalance({ postedNanos: 0n, meteredAt: later(hour) }))).toEqual(later(hour))
  })

  it('counts carried parts as spent', () => {
    const carried = originOf(50_000_000n, start, 1n)
    expect(calculateCreditEnd(aBalance({ diskOrigin: carried }))).toEqual(later(7_999_999))
  })

  it('moves later when GPUs end before it', () => {
    // Both cost $0.45 in the first hour. The remaining $0.55 pays for the disk alone for 11 hours.
    const end = { kind: 'gpu' as const, rateNanos: 400_000_000n, since: start, carried: 0, at: later(hour) }
    expect(calculateCreditEnd(aBalance({ ends: [end] }))).toEqual(later(12 * hour))
    expect(calculateCreditEnd(aBalance({ ends: [end], diskRateNanos: 0n, diskOrigin: 0n }))).toBeNull()
    expect(calculateCreditEnd(aBalance({ ends: [{ ...end, at: later(8_000_001) }] }))).toEqual(later(8_000_000))
    const spent = { ...end, at: later(9_000_000) }
    expect(calculateCreditEnd(aBalance({ ends: [spent], diskRateNanos: 0n, diskOrigin: 0n }))).toBeNull()
    // Both ends come at once, and nothing is left for the disk.
    expect(calculateCreditEnd(aBalance({ ends: [{ ...end, at: later(8_000_000) }] }))).toEqual(later(8_000_000))
  })

  it('never comes when an ended meter used only a part of the last nano-dollar', () => {
    const end = { kind: 'gpu' as const, rateNanos: 1n, since: start, carried: 3_599_998, at: later(1) }
    const gpuOrigin = originOf(1n, start, 3_599_998n)
    const balance = aBalance({ ...nothing, postedNanos: 1n, gpuRateNanos: 1n, gpuOrigin, ends: [end] })
    expect(creditStatusOf({ ...balance, at: start }).creditNanos).toBe(1n)
    expect(creditStatusOf({ ...balance, at: later(hour) })).toMatchObject({
      creditNanos: 1n,
      endsAt: null,
      costPerHourNanos: 0n,
    })
  })

  it('never comes when the remainder of an ended meter pays for its last millisecond', () => {
    // 2 parts of a nano-dollar are left, and 5 are used. That makes one nano-dollar, and its other 3 parts are not
    // charged.
    const end = { kind: 'gpu' as const, rateNanos: 5n, since: start, carried: 3_599_998, at: later(1) }
    const gpuOrigin = originOf(5n, start, 3_599_998n)
    const balance = aBalance({ ...nothing, postedNanos: 1n, gpuRateNanos: 5n, gpuOrigin, ends: [end] })
    expect(creditStatusOf({ ...balance, at: later(hour) })).toMatchObject({
      creditNanos: 0n,
      endsAt: null,
      hasEnded: false,
    })
  })

  it('counts several ends in any order', () => {
    // $0.10/h until 1 h, $0.30/h until 3 h: 0.1 + 0.9 + 3 * 0.05 = $1.15. The remaining $0.05 pays for the disk for an
    // hour.
    const ends = [
      { kind: 'gpu' as const, rateNanos: 300_000_000n, since: start, carried: 0, at: later(3 * hour) },
      { kind: 'gpu' as const, rateNanos: 100_000_000n, since: start, carried: 0, at: later(hour) },
    ]
    const postedNanos = 1_200_000_000n
    expect(calculateCreditEnd(aBalance({ postedNanos, ends }))).toEqual(later(4 * hour))
    expect(calculateCreditEnd(aBalance({ postedNanos, ends: ends.toReversed() }))).toEqual(later(4 * hour))
    // Credit ends between the two ends: it pays $0.45 in the first hour and $0.35 in the second.
    expect(calculateCreditEnd(aBalance({ postedNanos: 800_000_000n, ends }))).toEqual(later(2 * hour))
  })

  it('charges nothing for a meter that ended before it began', () => {
    const end = { kind: 'gpu' as const, rateNanos: 400_000_000n, since: start, carried: 0, at: later(-hour) }
    expect(calculateCreditEnd(aBalance({ ends: [end] }))).toEqual(later(20 * hour))
    const late = { meteredAt: later(hour), ends: [end], postedNanos: 100_000_000n }
    expect(calculateCreditEnd(aBalance(late))).toEqual(later(2 * hour))
  })

  it('never comes when it is after the year 9999', () => {
    const rich = { postedNanos: 999_999_999n * dollar, ...nothing, gpuRateNanos: 1_000_000n }
    expect(calculateCreditEnd(aBalance(rich))).toBeNull()
    expect(creditStatusOf(aBalance(rich))).toMatchObject({ endsAt: null, hasEnded: false })
    // The year 9999 ends in 69,890,844 hours.
    const [hours, alone] = [69_890_844n, { gpuRateNanos: dollar, diskRateNanos: 0n, diskOrigin: 0n }]
    const paidFor = (more: bigint) => calculateCreditEnd(aBalance({ ...alone, postedNanos: hours * dollar + more }))
    expect(paidFor(-277n)?.toISOString()).toBe('9999-12-31T23:59:59.999Z')
    expect(paidFor(0n)).toBeNull()
  })
})

describe('the credit status', () => {
  it('has the remaining credit, the cost per hour and the end of credit', () => {
    expect(creditStatusOf(aBalance({ at: later(2 * hour) }))).toEqual({
      creditNanos: 100_000_000n,
      costPerHourNanos: 450_000_000n,
      endsAt: later(8_000_000),
      hasEnded: false,
    })
  })

  it('reports the end of credit from the last paid millisecond on', () => {
    expect(creditStatusOf(aBalance({ at: later(7_999_999) }))).toMatchObject({ creditNanos: 125n, hasEnded: false })
    expect(creditStatusOf(aBalance({ at: later(8_000_000) }))).toMatchObject({ creditNanos: 0n, hasEnded: true })
  })

  it('has credit that falls below zero by the cost of the disk alone', () => {
    const over = { endsAt: later(8_000_000), costPerHourNanos: 50_000_000n, hasEnded: true }
    expect(creditStatusOf(aBalance({ at: later(8_000_000 + hour) }))).toEqual({ ...over, creditNanos: -50_000_000n })
    // The disk uses the remainder that was too small for the GPUs.
    const more = aBalance({ at: later(8_000_000 + hour), postedNanos: dollar + 124n })
    expect(creditStatusOf(more)).toEqual({ ...over, creditNanos: -49_999_876n })
  })

  it('counts disks until their end, before and after the end of credit', () => {
    const end = { kind: 'disk' as const, rateNanos: 50_000_000n, since: start, carried: 0, at: later(hour) }
    const ended = aBalance({ at: later(2 * hour), ends: [end] })
    // $0.45 in the first hour and $0.40 an hour after it: $0.55 lasts for another 82.5 minutes.
    const endsAt = later(hour + 4_950_000)
    expect(creditStatusOf(ended)).toEqual({
      creditNanos: 150_000_000n,
      costPerHourNanos: 400_000_000n,
      endsAt,
      hasEnded: false,
    })
    expect(creditStatusOf({ ...ended, at: later(5 * hour) })).toEqual({
      creditNanos: 0n,
      costPerHourNanos: 0n,
      endsAt,
      hasEnded: true,
    })
    // Another disk continues.
    const two = { diskRateNanos: 60_000_000n, diskOrigin: originOf(60_000_000n, start) }
    const over = creditStatusOf(aBalance({ ...two, at: later(5 * hour), ends: [end] }))
    expect(over).toMatchObject({ costPerHourNanos: 10_000_000n, hasEnded: true })
    // A disk that ends later costs until then, even after the end of credit.
    const late = { ...end, at: later(3 * hour) }
    expect(creditStatusOf(aBalance({ at: later(5 * hour), ends: [late] }))).toMatchObject({
      ...{
        creditNanos: -(50_000_000n * 2_800_000n) / 3_600_000n,
        costPerHourNanos: 0n,
        endsAt: later(8_000_000),
        hasEnded: true,
      },
    })
  })

  it('counts GPUs until their end', () => {
    const end = { kind: 'gpu' as const, rateNanos: 400_000_000n, since: start, carried: 0, at: later(hour) }
    const ended = aBalance({ at: later(2 * hour), ends: [end] })
    const [creditNanos, costPerHourNanos, endsAt] = [500_000_000n, 50_000_000n, later(12 * hour)]
    expect(creditStatusOf(ended)).toEqual({ creditNanos, costPerHourNanos, endsAt, hasEnded: false })
    expect(creditStatusOf({ ...ended, at: later(hour) })).toMatchObject({ creditNanos: 550_000_000n, costPerHourNanos })
    expect(creditStatusOf({ ...ended, at: later(hour - 1) })).toMatchObject({ costPerHourNanos: 450_000_000n })
  })

  it('keeps a partly used nano-dollar, above and below zero', () => {
    const a = (ms: number) => aBalance({ postedNanos: 1n, gpuRateNanos: 0n, diskRateNanos: 1n, at: later(ms) })
    expect([0, 1, hour - 1].map(ms => creditStatusOf(a(ms)).creditNanos)).toEqual([1n, 1n, 1n])
    expect([hour, hour + 1, 2 * hour - 1].map(ms => creditStatusOf(a(ms)).creditNanos)).toEqual([0n, 0n, 0n])
    expect(creditStatusOf(a(2 * hour)).creditNanos).toBe(-1n)
  })

  it('has no end at zero credit when nothing costs anything, but has ended when credit is below zero', () => {
    const none = { endsAt: null, hasEnded: false, costPerHourNanos: 0n }
    expect(creditStatusOf(aBalance({ ...nothing, postedNanos: 0n }))).toEqual({ ...none, creditNanos: 0n })
    const debt = { endsAt: start, hasEnded: true, creditNanos: -5n, costPerHourNanos: 0n }
    expect(creditStatusOf(aBalance({ ...nothing, postedNanos: -5n, at: later(hour) }))).toEqual(debt)
  })
})
