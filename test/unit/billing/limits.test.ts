import { describe, expect, it } from 'vitest'
import {
  checkLimitAmount,
  isReached,
  limitErrors,
  maxLimitNanos,
  predictReachedAt,
  type Spending,
  windowAt,
  windowsToCheck,
} from '../../../src/domain/billing/limits.ts'
import type { SpendLimitWithUsage } from '../../../src/domain/billing/spend-limit.ts'
import { retryAdviceOf, retryAfterOf } from '../../../src/domain/retry.ts'

const date = (text: string) => new Date(`${text}Z`)
const usd = 1_000_000_000n

const aLimit = (facts: Partial<SpendLimitWithUsage> = {}): SpendLimitWithUsage => ({
  ...{
    id: 1,
    apiKeyId: null,
    window: 'day',
    amountNanos: usd,
    action: 'block_new',
    cap: false,
    usedNanos: 0n,
    reachedAt: null,
  },
  createdAt: date('2026-01-01T00:00'),
  updatedAt: date('2026-01-01T00:00'),
  ...facts,
})

describe('the window of a limit', () => {
  it.each([
    ['day', '2026-12-31T23:59:59.999', '2026-12-31T00:00', '2027-01-01T00:00'],
    ['day', '2027-01-01T00:00', '2027-01-01T00:00', '2027-01-02T00:00'],
    ['day', '2028-02-28T12:00', '2028-02-28T00:00', '2028-02-29T00:00'],
    ['month', '2028-02-29T23:59:59.999', '2028-02-01T00:00', '2028-03-01T00:00'],
    ['month', '2026-12-01T00:00', '2026-12-01T00:00', '2027-01-01T00:00'],
    // Summer time does not affect UTC.
    ['day', '2026-03-29T12:00', '2026-03-29T00:00', '2026-03-30T00:00'],
  ] as const)('is the %s of %s: from %s to %s', (window, at, from, until) => {
    expect(windowAt(window, date(at))).toEqual({ from: date(from), until: date(until) })
  })
})

describe('the windows to check', () => {
  const from = (limit: Partial<SpendLimitWithUsage>, meteredAt: string, at: string) =>
    windowsToCheck(aLimit(limit), { meteredAt: date(meteredAt), at: date(at) }).map(({ from }) => from)

  it('start at the last change of the account or of the limit, whichever is later', () => {
    const days = ['2026-05-01T00:00', '2026-05-02T00:00', '2026-05-03T00:00'].map(date)
    expect(from({}, '2026-05-01T23:00', '2026-05-03T00:00')).toEqual(days)
    expect(from({}, '2026-05-03T23:00', '2026-05-03T23:30')).toEqual(days.slice(2))
    expect(from({ updatedAt: date('2026-05-02T09:00') }, '2026-05-01T23:00', '2026-05-03T01:00')).toEqual(days.slice(1))
    expect(from({ window: 'month' }, '2026-04-30T23:00', '2026-05-03T01:00')).toEqual([
      date('2026-04-01T00:00'),
      days[0],
    ])
  })

  it('are none for an hourly limit, and only the current one for a limit that a faster clock created', () => {
    expect(from({ window: 'hour' }, '2026-05-01T23:00', '2026-05-03T00:00')).toEqual([])
    expect(from({ updatedAt: date('2026-05-05T09:00') }, '2026-05-01T23:00', '2026-05-02T01:00')).toEqual([
      date('2026-05-02T00:00'),
    ])
  })
})

describe('the instant at which a limit is reached', () => {
  const day = date('2026-05-01T00:00')
  const times = { at: date('2026-05-01T12:00'), meteredAt: day }
  /** Costs of $0.40 an hour since the start of the day. */
  const spending = (facts: Partial<Spending> = {}): Spending => ({
    ...{ from: day, postedNanos: 0n, rateNanos: 400_000_000n, origin: 400_000_000n * BigInt(day.getTime()) },
    ...{ spentNanos: 0n, ends: [] },
    ...facts,
  })

  it('is the last millisecond within the limit', () => {
    expect(predictReachedAt(aLimit(), spending(), times)).toEqual(date('2026-05-01T02:30'))
    // A millisecond costs 111.1 nano-dollars.
    expect(predictReachedAt(aLimit({ amountNanos: usd + 111n }), spending(), times)).toEqual(date('2026-05-01T02:30'))
    expect(predictReachedAt(aLimit({ amountNanos: usd + 112n }), spending(), times)).toEqual(
      date('2026-05-01T02:30:00.001'),
    )
    expect(predictReachedAt(aLimit(), spending({ postedNanos: usd / 2n }), times)).toEqual(date('2026-05-01T01:15'))
  })

  it('can be in the future, and is never before the limit or the account changed', () => {
    const { at, meteredAt } = { at: date('2026-05-01T01:00'), meteredAt: day }
    expect(predictReachedAt(aLimit(), spending(), { at, meteredAt })).toEqual(date('2026-05-01T02:30'))
    const updatedAt = date('2026-05-01T04:00')
    expect(predictReachedAt(aLimit({ updatedAt }), spending(), times)).toEqual(updatedAt)
    expect(predictReachedAt(aLimit(), spending(), { ...times, meteredAt: date('2026-05-01T05:00') })).toEqual(
      date('2026-05-01T05:00'),
    )
  })

  it('never comes when nothing runs below the limit, or the meters end before it', () => {
    const nothing = { rateNanos: 0n, origin: 0n }
    expect(predictReachedAt(aLimit(), spending({ ...nothing, postedNanos: usd - 1n }), times)).toBe(null)
    expect(predictReachedAt(aLimit(), spending({ ...nothing, postedNanos: usd }), times)).toEqual(day)
    expect(predictReachedAt(aLimit({ amountNanos: 0n }), spending(nothing), times)).toEqual(day)
    const ends = (at: string) => [{ rateNanos: 400_000_000n, since: day, at: date(at) }]
    expect(predictReachedAt(aLimit(), spending({ ends: ends('2026-05-01T02:29:59.999') }), times)).toBe(null)
    expect(predictReachedAt(aLimit(), spending({ ends: ends('2026-05-01T02:30:00.001') }), times)).toEqual(
      date('2026-05-01T02:30'),
    )
  })
})

describe('a spend limit', () => {
  const at = date('2026-05-01T12:00')
  const ask = (rateNanos: bigint, ...limits: Partial<SpendLimitWithUsage>[]) =>
    limitErrors(limits.map(aLimit), [{ apiKeyId: 7, rateNanos }], at)
  const hour = { window: 'hour', usedNanos: 600_000_000n } as const

  it('refuses a rate above its amount and allows one equal to it', () => {
    expect(ask(400_000_000n, hour)).toEqual([])
    const [error] = ask(400_000_001n, hour)
    expect([error?.code, error?.message]).toEqual([
      'SPEND_LIMIT_EXCEEDED',
      'The spend limit of the account is $1 an hour: $0.6 is in use and this request adds $0.400000001. Stop or destroy something first, or raise the limit.',
    ])
    expect(error?.details).toMatchObject({ limit: { id: 1, usedNanos: 600_000_000n }, askedNanos: 400_000_001n })
  })

  it('allows a request without costs, even when it is exceeded', () => {
    const limits = [{ ...hour, usedNanos: 2n * usd }, { reachedAt: at }]
    expect([ask(0n, ...limits), ask(-1n, ...limits)]).toEqual([[], []])
    expect(ask(1n, ...limits)).toHaveLength(2)
  })

  it('refuses every cost until the end of the day or month in which it was reached', () => {
    const reachedAt = (text: string) => ({ reachedAt: date(text) })
    expect(ask(1n, reachedAt('2026-05-01T00:00'))).toHaveLength(1)
    expect(ask(1n, reachedAt('2026-04-30T23:59:59.999'))).toEqual([])
    expect(ask(1n, { window: 'month', ...reachedAt('2026-04-30T23:59:59.999') })).toEqual([])
    expect(ask(1n, { window: 'month', ...reachedAt('2026-05-01T00:00') })[0]?.message).toBe(
      'The spend limit of the account is $1 a month and is reached: $0 is spent. This request costs $0.000000001 an hour. Wait for the next month (UTC), or raise the limit.',
    )
  })

  it.each([
    ['day', {}, 'later', date('2026-05-02T00:00')],
    ['month', {}, 'later', date('2026-06-01T00:00')],
    ['hour', { usedNanos: usd }, 'afterFix', null],
    ['day', { amountNanos: 0n }, 'afterFix', null],
  ] as const)('per %s of %o says %s, from %s', (window, facts, advice, after) => {
    const [error] = ask(1n, { window, reachedAt: at, ...facts })
    expect(error && [retryAdviceOf(error), retryAfterOf(error)]).toEqual([advice, after])
  })

  it('refuses nothing when it only notifies, and refuses only the costs of its key when it limits a key', () => {
    expect(ask(usd, { ...hour, action: 'notify' }, { action: 'notify', reachedAt: at })).toEqual([])
    expect(ask(usd, { ...hour, apiKeyId: 8 })).toEqual([])
    expect(ask(usd, { ...hour, apiKeyId: 7 })[0]?.message).toContain('The spend limit of API key 7 is')
  })

  it('is listed with all other limits that refuse, account limits first and then hourly limits first', () => {
    const stop = { action: 'stop_running', reachedAt: at } as const
    const limits = [
      { id: 4, apiKeyId: 7, ...hour },
      { id: 3, window: 'month', ...stop } as const,
      { id: 2, ...stop },
      { id: 1, ...hour },
    ]
    expect(ask(usd, ...limits).map(({ details }) => details.limit.id)).toEqual([1, 2, 3, 4])
  })
})

it('keeps an hourly limit reached across days until the rate is within the limit again', () => {
  const reachedAt = date('2020-01-01T00:00')
  expect(isReached(aLimit({ window: 'hour', reachedAt }), date('2026-05-01T12:00'))).toBe(true)
  expect(isReached(aLimit({ window: 'hour' }), date('2026-05-01T12:00'))).toBe(false)
})

it('accepts an amount from 0 to the largest credit', () => {
  for (const amount of [0n, maxLimitNanos]) expect(() => checkLimitAmount(amount)).not.toThrow()
  for (const amount of [-1n, maxLimitNanos + 1n])
    expect(() => checkLimitAmount(amount)).toThrow('must be from 0 to 999999999,')
})
