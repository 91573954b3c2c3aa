import { type Balance, type Standing, standingOf } from './billing.ts'

/** For how many whole seconds the credit lasts; null while nothing costs anything. */
export function runwayOf({ endsAt }: Pick<Standing, 'endsAt'>, at: Date): number | null {
  return endsAt && Math.max(0, Math.floor((endsAt.getTime() - at.getTime()) / 1000))
}

type Rates = { computeNanos: bigint; diskNanos: bigint }

/** The same, if more began to cost something now. */
export function runwayWith(balance: Balance, { computeNanos, diskNanos }: Rates): number | null {
  const begin = BigInt(balance.at.getTime())
  const standing = standingOf({
    ...balance,
    computeRateNanos: balance.computeRateNanos + computeNanos,
    computeOrigin: balance.computeOrigin + computeNanos * begin,
    diskRateNanos: balance.diskRateNanos + diskNanos,
    diskOrigin: balance.diskOrigin + diskNanos * begin,
  })
  return runwayOf(standing, balance.at)
}
