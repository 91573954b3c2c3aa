import { type Balance, type CreditStatus, creditStatusOf } from './balance.ts'

/** For how many whole seconds the credit lasts; null while nothing costs anything. */
export function runwayOf({ endsAt }: Pick<CreditStatus, 'endsAt'>, at: Date): number | null {
  return endsAt && Math.max(0, Math.floor((endsAt.getTime() - at.getTime()) / 1000))
}

type AddedRates = { computeNanos: bigint; diskNanos: bigint }

/** The same, if more began to cost something now. */
export function runwayAfterAdding(balance: Balance, { computeNanos, diskNanos }: AddedRates): number | null {
  const begin = BigInt(balance.at.getTime())
  const standing = creditStatusOf({
    ...balance,
    computeRateNanos: balance.computeRateNanos + computeNanos,
    computeOrigin: balance.computeOrigin + computeNanos * begin,
    diskRateNanos: balance.diskRateNanos + diskNanos,
    diskOrigin: balance.diskOrigin + diskNanos * begin,
  })
  return runwayOf(standing, balance.at)
}
