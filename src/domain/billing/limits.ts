// Limits of what is spent: so much in a day or a month, which begin at midnight UTC, or so much per hour at any instant.

import { DomainError, invalidInput } from '../errors.ts'
import { printUsd } from '../money.ts'
import { type Balance, creditStatusOf, type MeterEnd } from './balance.ts'
import { type SpendLimit, type SpendLimitWithUsage, type SpendWindow, spendLimitWindows } from './spend-limit.ts'

export const maxLimitNanos = 999_999_999_000_000_000n

export function checkLimitAmount(amountNanos: bigint): void {
  if (amountNanos >= 0n && amountNanos <= maxLimitNanos) return
  const message = `must be from 0 to ${printUsd(maxLimitNanos)}, not ${printUsd(amountNanos)}.`
  throw invalidInput([{ path: 'amount', message }])
}

/** Where a window begins that an instant is in, and where the next one does. */
export function windowAt(window: Exclude<SpendWindow, 'hour'>, at: Date): { from: Date; until: Date } {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  const begins = (offset: number) =>
    new Date(window === 'day' ? Date.UTC(year, month, day + offset) : Date.UTC(year, month + offset))
  return { from: begins(0), until: begins(1) }
}

type BalanceTimes = Pick<Balance, 'at' | 'meteredAt'>

/**
 * The windows of a limit in which it may have been reached since something changed last, up to now, in their order. More
 * than one where nobody looked for long.
 */
export function windowsToCheck(
  { window, createdAt }: SpendLimit,
  { at, meteredAt }: BalanceTimes,
): { from: Date; until: Date }[] {
  if (window === 'hour') return []
  const windows = [windowAt(window, earlier(later(meteredAt, createdAt), at))]
  for (let last = windows[0]; last && last.until <= at; ) {
    last = windowAt(window, last.until)
    windows.push(last)
  }
  return windows
}

/** What was spent since an instant, and what goes on taking of it: in the terms of a balance. */
export type Spending = {
  /** What of it has ended, and is in the sums as if it had not. */
  ends: Omit<MeterEnd, 'kind' | 'carried'>[]
  from: Date
  /** Charged, less what the meters that go on cost before the instant since they were charged. */
  postedNanos: bigint
  rateNanos: bigint
  origin: bigint
  /** All of it together, each meter in whole nano-dollars, as it would be charged now. */
  spentNanos: bigint
}

/** When a limit of a day or month is reached, if everything goes on as it does; null where it is not. */
export function predictReachedAt(
  { amountNanos, createdAt }: SpendLimit,
  spending: Spending,
  { at, meteredAt }: BalanceTimes,
) {
  const { from, postedNanos, rateNanos, origin, ends } = spending
  const none = { diskRateNanos: 0n, diskOrigin: 0n }
  // What is not spent of it yet is an account from which the same meters take.
  const left: Balance = {
    ...{ at, ...none, computeRateNanos: rateNanos, computeOrigin: origin },
    // Whatever it is, the limit ends it.
    ends: ends.map(end => ({ ...end, kind: 'compute', carried: 0 })),
    meteredAt: later(earlier(later(meteredAt, createdAt), at), from),
    postedNanos: amountNanos - postedNanos,
  }
  const { endsAt, creditNanos } = creditStatusOf(left)
  return endsAt ?? (creditNanos <= 0n ? left.meteredAt : null)
}

/** Whether it was noted that a limit is reached, and is so still. */
export function isReached({ window, reachedAt }: SpendLimit, at: Date): boolean {
  return reachedAt !== null && (window === 'hour' || reachedAt >= windowAt(window, at).from)
}

/** What would cost something from now on, and the key for which it counts. */
export type KeyRate = { apiKeyId: number | null; rateNanos: bigint }

/** Of rates by key, what a limit counts. */
export function sumCountedRates({ apiKeyId }: Pick<SpendLimit, 'apiKeyId'>, rates: readonly KeyRate[]): bigint {
  const counted = rates.filter(rate => apiKeyId === null || rate.apiKeyId === apiKeyId)
  return counted.reduce((sum, { rateNanos }) => sum + rateNanos, 0n)
}

/** Why something new is refused, the limits of the account first; `used` is without what is new. */
export function limitProblems(
  limits: readonly SpendLimitWithUsage[],
  asked: readonly KeyRate[],
  at: Date,
): DomainError<'SPEND_LIMIT_EXCEEDED'>[] {
  return limits.toSorted(compareLimits).flatMap(limit => {
    const askedNanos = sumCountedRates(limit, asked)
    if (limit.action === 'notify' || askedNanos <= 0n) return []
    const { window, amountNanos, usedNanos } = limit
    const isOver = window === 'hour' ? usedNanos + askedNanos > amountNanos : isReached(limit, at)
    return isOver ? [limitExceeded(limit, askedNanos)] : []
  })
}

function compareLimits(one: SpendLimit, other: SpendLimit): number {
  const place = ({ apiKeyId, window }: SpendLimit) => (apiKeyId ?? 0) * 3 + spendLimitWindows.indexOf(window)
  return place(one) - place(other)
}

function limitExceeded(limit: SpendLimitWithUsage, askedNanos: bigint): DomainError<'SPEND_LIMIT_EXCEEDED'> {
  const { apiKeyId, window, amountNanos, usedNanos } = limit
  const [amount, used, asked] = [amountNanos, usedNanos, askedNanos].map(printUsd)
  const whose = apiKeyId === null ? 'the account' : `API key ${apiKeyId}`
  const message =
    window === 'hour'
      ? `The limit of ${whose} is ${amount} $ an hour: ${used} $ are used, and this would take ${asked} $ more.`
      : `The limit of ${whose} is ${amount} $ a ${window}, and reached: ${used} $ are spent. This costs ${asked} $ an hour.`
  return new DomainError('SPEND_LIMIT_EXCEEDED', message, { limit, askedNanos })
}

const later = (one: Date, other: Date) => (one > other ? one : other)
const earlier = (one: Date, other: Date) => (one < other ? one : other)
