import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { quotaErrors } from '../../../src/domain/accounts/quota-errors.ts'
import {
  type AdmissionFacts,
  admissionErrors,
  completeHoldings,
  findRefusedStarts,
} from '../../../src/domain/billing/admission.ts'
import { calculateRequiredCredit, reserveError } from '../../../src/domain/billing/reserve.ts'
import {
  addFailure,
  backoffError,
  backoffUntil,
  failuresBeforeBackoff,
} from '../../../src/domain/instances/start-backoff.ts'
import { defaultAdmission as rules } from '../../support/billing/admission.ts'

const hourMs = 3_600_000
const at = new Date('2026-11-22T12:00:00.000Z')
const later = (ms: number) => new Date(at.getTime() + ms)
const rates = fc.record({ gpuPriceNanos: fc.bigInt(0n, 10n ** 13n), diskNanos: fc.bigInt(0n, 10n ** 12n) })
const periods = fc.record({
  minimumRunwayMs: fc.integer({ min: hourMs, max: 100 * hourMs }),
  debtGraceMs: fc.integer({ min: hourMs, max: 100 * hourMs }),
})

describe('the required credit', () => {
  it('pays for everything for the minimum runway, then for disks for the grace period', () => {
    expect(calculateRequiredCredit({ gpuPriceNanos: 400_000_000n, diskNanos: 0n }, rules)).toBe(400_000_000n)
    expect(calculateRequiredCredit({ gpuPriceNanos: 0n, diskNanos: 4_000_000n }, rules)).toBe(49n * 4_000_000n)
    expect(calculateRequiredCredit({ gpuPriceNanos: 400_000_000n, diskNanos: 4_000_000n }, rules)).toBe(596_000_000n)
    expect(calculateRequiredCredit({ gpuPriceNanos: 1n, diskNanos: 0n }, { minimumRunwayMs: 1, debtGraceMs: 1 })).toBe(
      1n,
    )
  })

  it('is exact to the nano-dollar, rounded up, for every rate and period', () => {
    fc.assert(
      fc.property(rates, periods, ({ gpuPriceNanos, diskNanos }, { minimumRunwayMs, debtGraceMs }) => {
        const needed = calculateRequiredCredit({ gpuPriceNanos, diskNanos }, { minimumRunwayMs, debtGraceMs })
        const exact =
          gpuPriceNanos * BigInt(minimumRunwayMs) + diskNanos * (BigInt(minimumRunwayMs) + BigInt(debtGraceMs))
        expect(needed * 3_600_000n >= exact && (needed - 1n) * 3_600_000n < exact).toBe(true)
      }),
    )
  })

  it('is named to a renter who has some credit, and not to one who has none', () => {
    const held = { gpuPriceNanos: 400_000_000n, diskNanos: 0n }
    expect(reserveError(1n, held, rules)?.message).toContain('$0.4')
    for (const none of [0n, -1n]) expect(reserveError(none, held, rules)?.message).toBe('You lack credit.')
  })

  it('is accepted exactly, and one nano-dollar less is refused with the available and the needed amount', () => {
    fc.assert(
      fc.property(rates, periods, (held, period) => {
        const needed = calculateRequiredCredit(held, period)
        fc.pre(needed > 0n)
        expect(reserveError(needed, held, period)).toBeUndefined()
        expect(reserveError(needed - 1n, held, period)).toMatchObject({
          code: 'INSUFFICIENT_CREDIT',
          details: { availableNanos: needed - 1n, neededNanos: needed },
        })
      }),
    )
  })

  it('is above zero even for additions that cost nothing', () => {
    const free = { gpuPriceNanos: 0n, diskNanos: 0n }
    expect(reserveError(0n, free, rules)).toMatchObject({ code: 'INSUFFICIENT_CREDIT' })
    expect(reserveError(1n, free, rules)).toBeUndefined()
  })
})

describe('quotas', () => {
  const quotas = { instances: 2, loading: 1, diskGb: 10, volumes: 0 }
  const none = completeHoldings({})

  it('allow additions up to their limits and refuse more', () => {
    expect(quotaErrors(none, completeHoldings({ instances: 2, loading: 1, diskMb: 10_000 }), quotas)).toEqual([])
    const over = quotaErrors(none, completeHoldings({ instances: 3, loading: 2, diskMb: 10_001, volumes: 1 }), quotas)
    expect(over.map(({ code, details: { quota } }) => [code, quota])).toEqual([
      ['QUOTA_EXCEEDED', { name: 'instances', limit: 2, used: 0, asked: 3 }],
      ['QUOTA_EXCEEDED', { name: 'loading', limit: 1, used: 0, asked: 2 }],
      ['QUOTA_EXCEEDED', { name: 'diskGb', limit: 10, used: 0, asked: 10.001 }],
      ['QUOTA_EXCEEDED', { name: 'volumes', limit: 0, used: 0, asked: 1 }],
    ])
  })

  it('ignore an exceeded quota when the addition does not count for it', () => {
    const much = completeHoldings({ instances: 9, diskMb: 99_000, volumes: 9 })
    expect(quotaErrors(much, completeHoldings({ loading: 1 }), quotas)).toEqual([])
    expect(quotaErrors(much, completeHoldings({ volumes: 1 }), quotas)).toHaveLength(1)
  })
})

describe('the wait after failed starts', () => {
  const failed = (times: number) => {
    let failures = { count: 0, lastAt: null as Date | null }
    for (let time = 0; time < times; time += 1) failures = addFailure(failures, backoffUntil(failures) ?? at)
    return failures
  }

  it('begins after several failures in a row, doubles each time, and is at most an hour', () => {
    const waits = Array.from({ length: 20 }, (_, index) => {
      const failures = failed(index + 1)
      return ((backoffUntil(failures)?.getTime() ?? 0) - (failures.lastAt?.getTime() ?? 0)) / 60_000
    })
    expect(waits.slice(failuresBeforeBackoff, failuresBeforeBackoff + 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
    expect(waits.slice(0, failuresBeforeBackoff).every(wait => wait < 0)).toBe(true)
    expect(waits.at(-1)).toBe(60)
  })

  it('counts failures during a wait once', () => {
    const one = failed(failuresBeforeBackoff + 1)
    expect(addFailure(one, later(59_999))).toEqual(one)
    expect(addFailure(one, later(60_000))).toEqual({ count: failuresBeforeBackoff + 2, lastAt: later(60_000) })
  })

  it('refuses starts with the time of its end in the error, and is over at that time', () => {
    const failures = failed(failuresBeforeBackoff + 1)
    const retryAfter = later(60_000)
    expect(backoffError(failures, later(59_999))).toMatchObject({ code: 'START_BACKOFF', details: { retryAfter } })
    expect(backoffError(failures, retryAfter)).toBeUndefined()
  })
})

describe('an addition', () => {
  const account: AdmissionFacts = {
    at,
    disabled: null,
    creditNanos: 1_000_000_000n,
    held: completeHoldings({}),
    quotas: rules.quotas,
    failures: { count: failuresBeforeBackoff + 1, lastAt: at },
  }

  it('is refused with every error', () => {
    const added = completeHoldings({ gpuPriceNanos: 2_000_000_000n, instances: 2_000, loading: 1 })
    expect(admissionErrors(account, added, rules).map(({ code }) => code)).toEqual([
      'INSUFFICIENT_CREDIT',
      'QUOTA_EXCEEDED',
      'START_BACKOFF',
    ])
  })

  it('is refused with one error if the account is disabled', () => {
    const disabled = { since: at, reason: 'Fraud.' }
    const errors = admissionErrors({ ...account, disabled }, completeHoldings({ volumes: 1 }), rules)
    expect(errors).toMatchObject([{ code: 'ACCOUNT_DISABLED', details: disabled }])
    expect(errors[0]?.message).toBe('An operator of the service has disabled this account: Fraud.')
  })

  it('does not wait if it starts nothing', () => {
    expect(admissionErrors(account, completeHoldings({ diskNanos: 1n, volumes: 1 }), rules)).toEqual([])
  })

  it('of several starts is admitted in order, without the starts that do not fit', () => {
    const calm = { ...account, failures: { count: 0, lastAt: null } }
    const starts = [400_000_000n, 700_000_000n, 600_000_000n, 1n].map((gpuPriceNanos, index) => ({
      ...{ id: BigInt(index), gpuPriceNanos },
    }))
    expect([...findRefusedStarts(calm, starts, rules).keys()]).toEqual([1n, 3n])
  })
})
