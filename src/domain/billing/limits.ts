// Spend limits: an amount per UTC day or month, or a rate per hour at any instant.

import { DomainError, type Issue, invalidInput } from '../errors.ts'
import { mention, withIds } from '../messages.ts'
import { printUsd } from '../money.ts'
import { type Balance, creditStatusOf, type MeterEnd } from './balance.ts'
import { type SpendLimit, type SpendLimitWithUsage, type SpendWindow, spendLimitWindows } from './spend-limit.ts'

export const maxLimitNanos = 999_999_999_000_000_000n

export function limitAmountIssues(amountNanos: bigint): Issue[] {
  if (amountNanos >= 0n && amountNanos <= maxLimitNanos) return []
  const message = `must be from 0 to ${printUsd(maxLimitNanos)}, not ${printUsd(amountNanos)}.`
  return [{ path: 'amount', message }]
}

export function checkLimitAmount(amountNanos: bigint): void {
  const issues = limitAmountIssues(amountNanos)
  if (issues.length > 0) throw invalidInput(issues)
}

/** The UTC day or month that contains an instant. `until` is the start of the next day or month. */
export function windowAt(window: Exclude<SpendWindow, 'hour'>, at: Date): { from: Date; until: Date } {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  const begins = (offset: number) =>
    new Date(window === 'day' ? Date.UTC(year, month, day + offset) : Date.UTC(year, month + offset))
  return { from: begins(0), until: begins(1) }
}

type BalanceTimes = Pick<Balance, 'at' | 'meteredAt'>

/**
 * The windows, in order, in which a limit may have been reached since the account last changed. There are several if
 * no gateway has checked for a long time.
 */
export function windowsToCheck(
  { window, updatedAt }: SpendLimit,
  { at, meteredAt }: BalanceTimes,
): { from: Date; until: Date }[] {
  if (window === 'hour') return []
  const windows = [windowAt(window, earlier(later(meteredAt, updatedAt), at))]
  for (let last = windows[0]; last && last.until <= at; ) {
    last = windowAt(window, last.until)
    windows.push(last)
  }
  return windows
}

/** Spending since `from`, in the terms of a `Balance`. */
export type Spending = {
  /** Ends of meters that the sums still count as running. */
  ends: Omit<MeterEnd, 'kind' | 'carried'>[]
  from: Date
  /** Charges since `from`, less the costs of running meters before `from` that are not charged yet. */
  postedNanos: bigint
  rateNanos: bigint
  origin: bigint
  /** The whole spending if every meter were charged now, each in whole nano-dollars. */
  spentNanos: bigint
}

/** When a day or month limit is reached if nothing changes; null if it never is. */
export function predictReachedAt(
  { amountNanos, updatedAt }: SpendLimit,
  spending: Spending,
  { at, meteredAt }: BalanceTimes,
) {
  const { from, postedNanos, rateNanos, origin, ends } = spending
  const none = { diskRateNanos: 0n, diskOrigin: 0n }
  // The unspent part of the limit behaves like the credit of an account with the same meters.
  const unspent: Balance = {
    ...{ at, ...none, gpuRateNanos: rateNanos, gpuOrigin: origin },
    // All meters count as GPU meters: disks use up a limit just as GPUs do.
    ends: ends.map(end => ({ ...end, kind: 'gpu', carried: 0 })),
    meteredAt: later(earlier(later(meteredAt, updatedAt), at), from),
    postedNanos: amountNanos - postedNanos,
  }
  const { endsAt, creditNanos } = creditStatusOf(unspent)
  return endsAt ?? (creditNanos <= 0n ? unspent.meteredAt : null)
}

/** Whether the limit is recorded as reached, and its window has not ended since. */
export function isReached({ window, reachedAt }: SpendLimit, at: Date): boolean {
  return reachedAt !== null && (window === 'hour' || reachedAt >= windowAt(window, at).from)
}

/** A cost per hour, and the key whose limits count it. */
export type KeyRate = { apiKeyId: number | null; rateNanos: bigint }

/** The sum of the rates that a limit counts. */
export function sumCountedRates({ apiKeyId }: Pick<SpendLimit, 'apiKeyId'>, rates: readonly KeyRate[]): bigint {
  const counted = rates.filter(rate => apiKeyId === null || rate.apiKeyId === apiKeyId)
  return counted.reduce((sum, { rateNanos }) => sum + rateNanos, 0n)
}

/** Lists the limits that refuse `added` rates, those of the account first. `usedNanos` must exclude these rates. */
export function limitErrors(
  limits: readonly SpendLimitWithUsage[],
  added: readonly KeyRate[],
  at: Date,
): DomainError<'SPEND_LIMIT_EXCEEDED'>[] {
  return limits.toSorted(compareLimits).flatMap(limit => {
    const askedNanos = sumCountedRates(limit, added)
    if (limit.action === 'notify' || askedNanos <= 0n) return []
    const { window, amountNanos, usedNanos } = limit
    const isOver = window === 'hour' ? usedNanos + askedNanos > amountNanos : isReached(limit, at)
    return isOver ? [limitExceeded(limit, askedNanos, at)] : []
  })
}

/** The error for an account that would change a limit of its operator. */
export function capRefusal(): DomainError<'FORBIDDEN'> {
  const message = 'An operator of the service set this spend limit, so only they can change or delete it.'
  return new DomainError('FORBIDDEN', message, { missing: [] })
}

/** The error for a second limit of the same account or key in the same window. */
export function limitExists({ id, apiKeyId, window }: SpendLimit): DomainError<'CONFLICT'> {
  const whose = apiKeyId === null ? 'the account' : withIds`API key ${mention('ApiKey', apiKeyId)}`
  const message = withIds`Spend limit ${mention('SpendLimit', id)} already limits ${whose} per ${window}. Update that limit instead.`
  return new DomainError('CONFLICT', message, { subject: { type: 'SpendLimit', id } })
}

function compareLimits(one: SpendLimit, other: SpendLimit): number {
  const place = ({ apiKeyId, window }: SpendLimit) => (apiKeyId ?? 0) * 3 + spendLimitWindows.indexOf(window)
  return place(one) - place(other)
}

function limitExceeded(limit: SpendLimitWithUsage, askedNanos: bigint, at: Date): DomainError<'SPEND_LIMIT_EXCEEDED'> {
  const { apiKeyId, window, amountNanos, usedNanos, cap } = limit
  const [amount, used, asked] = [printUsd(amountNanos), printUsd(usedNanos), printUsd(askedNanos)]
  const whose = apiKeyId === null ? 'the account' : withIds`API key ${mention('ApiKey', apiKeyId)}`
  const setBy = cap ? ' that an operator set' : ''
  const raise = cap ? 'ask the operator to raise the limit' : 'raise the limit'
  const message =
    window === 'hour'
      ? withIds`The spend limit of ${whose}${setBy} is $${amount} an hour: $${used} is in use and this request adds $${asked}. Stop or destroy something first, or ${raise}.`
      : withIds`The spend limit of ${whose}${setBy} is $${amount} a ${window} and is reached: $${used} is spent. This request costs $${asked} an hour. Wait for the next ${window} (UTC), or ${raise}.`
  // A limit of $0 is reached again as soon as the next window starts.
  const retryAfter = window === 'hour' || amountNanos === 0n ? null : windowAt(window, at).until
  return new DomainError('SPEND_LIMIT_EXCEEDED', message, { limit, askedNanos, retryAfter })
}

const later = (one: Date, other: Date) => (one > other ? one : other)
const earlier = (one: Date, other: Date) => (one < other ? one : other)
