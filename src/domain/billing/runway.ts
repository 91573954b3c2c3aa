import { type Balance, type CreditStatus, creditStatusOf } from './balance.ts'

/** Whole seconds until the credit ends; null if it never ends. */
export function runwayOf({ endsAt }: Pick<CreditStatus, 'endsAt'>, at: Date): number | null {
  return endsAt && Math.max(0, Math.floor((endsAt.getTime() - at.getTime()) / 1000))
}

type AddedRates = { gpuPriceNanos: bigint; diskNanos: bigint }

/** The runway if these rates were added now. */
export function runwayAfterAdding(balance: Balance, { gpuPriceNanos, diskNanos }: AddedRates): number | null {
  const begin = BigInt(balance.at.getTime())
  const status = creditStatusOf({
    ...balance,
    gpuRateNanos: balance.gpuRateNanos + gpuPriceNanos,
    gpuOrigin: balance.gpuOrigin + gpuPriceNanos * begin,
    diskRateNanos: balance.diskRateNanos + diskNanos,
    diskOrigin: balance.diskOrigin + diskNanos * begin,
  })
  return runwayOf(status, balance.at)
}
