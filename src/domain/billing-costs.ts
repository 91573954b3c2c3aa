import { type Balance, chargeUntil, type Meter, type Standing, standingOf } from './billing.ts'

export type ChargeKind = 'compute' | 'disk'
/** A meter of an account, with what it cost so far as that is in the ledger. */
export type CostMeter = Meter & { kind: ChargeKind; chargedNanos: bigint }

/** What something has cost until now, and costs per hour now: as it is, and if it were stopped. */
export type Cost = { accruedNanos: bigint; burnNanos: bigint; stoppedNanos: bigint }

export function costOf(meters: readonly CostMeter[], account: Pick<Standing, 'endsAt'> & { at: Date }): Cost {
  const { at } = account
  const parts = meters.map(meter => {
    const end = endOf(meter, account)
    const rateNanos = end === null || end > at ? meter.rateNanos : 0n
    return {
      accruedNanos: meter.chargedNanos + chargeUntil({ ...meter, end }, at).amountNanos,
      burnNanos: rateNanos,
      stoppedNanos: meter.kind === 'disk' ? rateNanos : 0n,
    }
  })
  const sum = (name: keyof Cost) => parts.reduce((total, part) => total + part[name], 0n)
  return { accruedNanos: sum('accruedNanos'), burnNanos: sum('burnNanos'), stoppedNanos: sum('stoppedNanos') }
}

/** GPUs cost nothing from the end of the credit on, also before anybody noted it. */
function endOf({ kind, end }: CostMeter, { endsAt }: Pick<Standing, 'endsAt'>): Date | null {
  if (kind === 'disk' || endsAt === null) return end
  return end !== null && end < endsAt ? end : endsAt
}

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
