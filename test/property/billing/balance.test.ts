import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Balance,
  calculateCharge,
  calculateChargedAfter,
  calculateCreditEnd,
  calculateMeterCharge,
  creditStatusOf,
} from '../../../src/domain/billing/balance.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 1_000)
const options = { seed, numRuns }
const timeout = 20_000 + 20 * numRuns

const partsPerNano = 3_600_000n
const start = new Date('2026-11-21T12:00:00.000Z').getTime()
const year = 366 * 86_400_000
// Rates up to 8 GPUs at $128 each, and rates so low that hours make no nano-dollar.
const rates = fc.oneof(fc.bigInt(0n, 1_024_000_000_000n), fc.bigInt(0n, 5n), fc.constant(0n))
const times = fc.oneof(fc.integer({ min: 0, max: year }), fc.integer({ min: 0, max: 10 }))
const remainders = fc.integer({ min: 0, max: 3_599_999 })

describe('a charge', () => {
  it(
    'has the same total however its period is divided',
    () => {
      const cuts = fc.tuple(rates, remainders, fc.array(times, { minLength: 1, maxLength: 20 }))
      const property = fc.property(cuts, ([rate, carried, pieces]) => {
        let [total, left] = [0n, carried]
        for (const ms of pieces) {
          const piece = calculateCharge(rate, ms, left)
          total += piece.amountNanos
          left = piece.carried
        }
        const ms = pieces.reduce((sum, piece) => sum + piece, 0)
        expect({ amountNanos: total, carried: left }).toEqual(calculateCharge(rate, ms, carried))
        expect(total * partsPerNano + BigInt(left)).toBe(rate * BigInt(ms) + BigInt(carried))
      })
      fc.assert(property, options)
    },
    timeout,
  )

  it(
    'equals the refund after any instant plus the charge before that instant',
    () => {
      const inputs = fc.tuple(rates, remainders, times, times)
      const property = fc.property(inputs, ([rateNanos, carried, charged, ended]) => {
        const meter = { rateNanos, carried, since: new Date(start), end: null }
        const whole = calculateMeterCharge(meter, new Date(start + charged))
        const first = calculateMeterCharge(meter, new Date(start + Math.min(charged, ended)))
        const beyond = calculateChargedAfter(whole, new Date(start + Math.min(charged, ended)))
        expect(first.amountNanos + beyond).toBe(whole.amountNanos)
        expect(beyond >= 0n).toBe(true)
      })
      fc.assert(property, options)
    },
    timeout,
  )
})

type TestMeter = { kind: 'gpu' | 'disk'; rateNanos: bigint; since: number; carried: number; end: number | null }
const testMeters = fc.record<TestMeter>({
  kind: fc.constantFrom('gpu', 'disk'),
  rateNanos: rates,
  since: times,
  carried: remainders,
  end: fc.option(times),
})
const accountStates = fc.record({
  meters: fc.array(testMeters, { maxLength: 6 }),
  postedNanos: fc.oneof(fc.bigInt(-5n, 5n), fc.bigInt(-(10n ** 12n), 10n ** 15n)),
  wait: times,
})

function balanceOf(meters: TestMeter[], postedNanos: bigint, at: number): Balance {
  const sum = (kind: TestMeter['kind'], value: (meter: TestMeter) => bigint) =>
    meters.filter(meter => meter.kind === kind).reduce((total, meter) => total + value(meter), 0n)
  const rate = ({ rateNanos }: TestMeter) => rateNanos
  const origin = ({ rateNanos, since, carried }: TestMeter) => rateNanos * BigInt(start + since) - BigInt(carried)
  const ends = meters.flatMap(({ kind, rateNanos, since, carried, end }) =>
    end === null ? [] : [{ kind, rateNanos, carried, since: new Date(start + since), at: new Date(start + end) }],
  )
  return {
    at: new Date(at),
    meteredAt: new Date(Math.max(start, ...meters.map(({ since }) => start + since))),
    postedNanos,
    gpuRateNanos: sum('gpu', rate),
    gpuOrigin: sum('gpu', origin),
    diskRateNanos: sum('disk', rate),
    diskOrigin: sum('disk', origin),
    ends,
  }
}

/**
 * The remaining credit at an instant, meter by meter. GPUs cost nothing after the end of credit. Meters that ended by
 * `ended` have cost whole nano-dollars.
 */
function remainingAt(meters: TestMeter[], postedNanos: bigint, at: number, over = Infinity, ended = at): bigint {
  return meters.reduce((remaining, { kind, rateNanos, since, carried, end }) => {
    const last = kind === 'disk' ? Infinity : over
    const until = Math.min(at, last, start + (end ?? Infinity))
    const cost = rateNanos * BigInt(Math.max(0, until - start - since)) + BigInt(carried)
    const hasEnded = end !== null && start + Math.max(since, end) <= Math.min(ended, last)
    return remaining - (hasEnded ? cost - (cost % partsPerNano) : cost)
  }, postedNanos * partsPerNano)
}

describe('the end of credit', () => {
  it(
    'is the last instant without debt for any set of meter ends',
    () => {
      const property = fc.property(accountStates, ({ meters, postedNanos, wait }) => {
        const { meteredAt } = balanceOf(meters, postedNanos, start)
        const balance = balanceOf(meters, postedNanos, meteredAt.getTime() + wait)
        const end = calculateCreditEnd(balance)?.getTime()
        const remaining = (at: number) => remainingAt(meters, postedNanos, at)
        const owes = remaining(meteredAt.getTime()) < 0n
        if (owes) expect(end).toBe(meteredAt.getTime())
        else if (end === undefined) expect(remaining(Date.UTC(10_000, 0)) >= 0n).toBe(true)
        else
          expect([remaining(end) >= 0n, remaining(end + 1) < 0n, end >= meteredAt.getTime()]).toEqual([
            true,
            true,
            true,
          ])
      })
      fc.assert(property, options)
    },
    timeout,
  )
})

describe('the credit', () => {
  it(
    'is what remains after all meters, if GPUs cost nothing after the end of credit',
    () => {
      const property = fc.property(accountStates, ({ meters, postedNanos, wait }) => {
        const { meteredAt } = balanceOf(meters, postedNanos, start)
        const at = meteredAt.getTime() + wait
        const { creditNanos, hasEnded, endsAt, costPerHourNanos } = creditStatusOf(balanceOf(meters, postedNanos, at))
        const over = hasEnded ? endsAt?.getTime() : undefined
        const remaining = remainingAt(meters, postedNanos, at, over)
        // Rounded up: a partly used nano-dollar does not count as spent.
        expect(creditNanos * partsPerNano - remaining < partsPerNano && creditNanos * partsPerNano >= remaining).toBe(
          true,
        )
        expect(hasEnded).toBe(endsAt !== null && endsAt.getTime() <= at)
        const next = remainingAt(meters, postedNanos, at + 1, over, at)
        expect(remaining - next).toBe(costPerHourNanos)
      })
      fc.assert(property, options)
    },
    timeout,
  )

  it(
    'does not depend on when the meters were charged',
    () => {
      const inputs = fc.tuple(accountStates, fc.array(times, { maxLength: 4 }))
      const property = fc.property(inputs, ([{ meters, postedNanos, wait }, stops]) => {
        const { meteredAt } = balanceOf(meters, postedNanos, start)
        const at = meteredAt.getTime() + year + wait
        const whole = creditStatusOf(balanceOf(meters, postedNanos, at))
        const last = Math.min(at, calculateCreditEnd(balanceOf(meters, postedNanos, at))?.getTime() ?? at)
        let [posted, now] = [postedNanos, meters]
        for (const stop of stops.toSorted((a, b) => a - b)) {
          const until = Math.min(meteredAt.getTime() + stop, last)
          const charged = now.map(meter => chargeAt(meter, until))
          posted -= charged.reduce((total, { amountNanos }) => total + amountNanos, 0n)
          now = charged.map(({ meter }) => meter)
        }
        const { creditNanos, endsAt, hasEnded } = creditStatusOf(balanceOf(now, posted, at))
        expect({ creditNanos, endsAt, hasEnded }).toEqual({
          creditNanos: whole.creditNanos,
          endsAt: whole.endsAt,
          hasEnded: whole.hasEnded,
        })
      })
      fc.assert(property, options)
    },
    timeout,
  )
})

function chargeAt({ kind, since, end, ...meterFacts }: TestMeter, until: number) {
  const ends = end !== null
  const meter = { ...meterFacts, since: new Date(start + since), end: ends ? new Date(start + end) : null }
  const { periodEnd, ms, amountNanos } = calculateMeterCharge(meter, new Date(until))
  const { carried } = calculateCharge(meterFacts.rateNanos, ms, meterFacts.carried)
  const from = ms === 0 ? since : periodEnd.getTime() - start
  return { amountNanos, meter: { kind, rateNanos: meterFacts.rateNanos, since: from, carried, end } }
}
