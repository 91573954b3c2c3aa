// Costs over time. A rate is nano-dollars per hour. Each millisecond of rate n adds n parts of a nano-dollar;
// 3,600,000 parts make one nano-dollar. A charge takes whole nano-dollars and carries the remaining parts to the next
// charge. The total therefore does not depend on how often the gateway charges.

export const partsPerNano = 3_600_000n

type Charge = { amountNanos: bigint; carried: number }

export function calculateCharge(rateNanos: bigint, ms: number, carried: number): Charge {
  const all = rateNanos * BigInt(ms) + BigInt(carried)
  return { amountNanos: all / partsPerNano, carried: Number(all % partsPerNano) }
}

/** A cost that accrues over time. It is already charged up to `since`. */
export type Meter = {
  rateNanos: bigint
  since: Date
  carried: number
  /** When the meter ends or ended; null when no end is recorded. */
  end: Date | null
}

/** Calculates the charge from `since` to `until`. The charged time stops at the meter's end and is never negative. */
export function calculateMeterCharge({ rateNanos, since, carried, end }: Meter, until: Date) {
  const periodEnd = end !== null && end < until ? end : until
  const ms = Math.max(0, periodEnd.getTime() - since.getTime())
  return {
    periodStart: since,
    periodEnd,
    rateNanos,
    carried,
    ms,
    amountNanos: calculateCharge(rateNanos, ms, carried).amountNanos,
  }
}

/** Calculates how much of a charge is for the time after `instant`. */
export function calculateChargedAfter(
  { periodStart, rateNanos, carried, amountNanos }: Omit<ReturnType<typeof calculateMeterCharge>, 'ms' | 'periodEnd'>,
  instant: Date,
): bigint {
  const ms = Math.max(0, instant.getTime() - periodStart.getTime())
  return amountNanos - calculateCharge(rateNanos, ms, carried).amountNanos
}

/**
 * An account's credit and running costs. It has the sum of the ledger, and the sums of rates and origins over all
 * running meters. A meter's origin is its rate times `since` in ms, less its carried parts.
 * These sums give the credit at any instant, so nothing is written as time passes. An ended meter takes whole
 * nano-dollars. The credit of an account without running meters is therefore exactly the sum of its ledger.
 */
export type Balance = {
  /** The requested instant, or `meteredAt` if that is later: an account's time never goes back. */
  at: Date
  /** No meter has a later `since`. */
  meteredAt: Date
  postedNanos: bigint
  gpuRateNanos: bigint
  gpuOrigin: bigint
  diskRateNanos: bigint
  diskOrigin: bigint
  /** Ends of meters that the sums still count as running. */
  ends: MeterEnd[]
}

export type MeterEnd = { kind: ChargeKind; rateNanos: bigint; since: Date; carried: number; at: Date }
export const chargeKinds = ['gpu', 'disk'] as const
export type ChargeKind = (typeof chargeKinds)[number]

/** The credit at an instant, in parts, if every meter runs until its end. */
function remainingPartsAt(balance: Balance, ms: bigint): bigint {
  const { postedNanos, gpuRateNanos, gpuOrigin, diskRateNanos, diskOrigin, ends } = balance
  const spent = (gpuRateNanos + diskRateNanos) * ms - gpuOrigin - diskOrigin
  const beyond = sum(ends.map(end => end.rateNanos * atLeastZero(ms - meterEndMs(end))))
  return postedNanos * partsPerNano - spent + beyond + sumRemainders(ends.filter(end => meterEndMs(end) <= ms))
}

/** The fractions of a nano-dollar that remain when meters end. They are never charged. */
function sumRemainders(ends: readonly MeterEnd[]): bigint {
  const remainders = ends.map(end => {
    const ms = Number(meterEndMs(end)) - end.since.getTime()
    return BigInt(calculateCharge(end.rateNanos, ms, end.carried).carried)
  })
  return sum(remainders)
}

/** The cost of disks between two instants, in parts. */
function diskCostParts({ diskRateNanos, ends }: Balance, from: bigint, to: bigint): bigint {
  const ended = ends.filter(({ kind }) => kind === 'disk')
  const beyond = ended.map(end => end.rateNanos * atLeastZero(to - (meterEndMs(end) > from ? meterEndMs(end) : from)))
  const dropped = sumRemainders(ended.filter(end => meterEndMs(end) > from && meterEndMs(end) <= to))
  return diskRateNanos * (to - from) - sum(beyond) - dropped
}

const meterEndMs = ({ since, at }: { since: Date; at: Date }) => BigInt(Math.max(since.getTime(), at.getTime()))
const atLeastZero = (value: bigint) => (value > 0n ? value : 0n)
const sum = (values: bigint[]) => values.reduce((total, value) => total + value, 0n)

/** An instant from here on counts as never, because dates have years of four digits. */
const neverMs = BigInt(Date.UTC(10_000, 0))

/**
 * The last millisecond that the credit pays for if nothing changes. Null when nothing costs anything, or the end is
 * after the year 9999. GPUs are not charged after the end: the renter does not pay for a gateway that notices late.
 */
export function calculateCreditEnd(balance: Balance): Date | null {
  let ms = BigInt(balance.meteredAt.getTime())
  let remaining = remainingPartsAt(balance, ms)
  if (remaining < 0n) return balance.meteredAt
  let rate = totalRateAt(balance, ms)
  const payable = () => (rate > 0n ? ms + remaining / rate : neverMs)
  const steps = Map.groupBy(
    balance.ends.filter(end => meterEndMs(end) > ms),
    end => meterEndMs(end),
  )
  for (const [next, ends] of [...steps].sort(([one], [other]) => Number(one - other))) {
    const remainingThen = remaining - rate * (next - ms) + sumRemainders(ends)
    if (payable() < next - 1n || remainingThen < 0n) break
    remaining = remainingThen
    rate -= sum(ends.map(({ rateNanos }) => rateNanos))
    ms = next
  }
  return payable() < neverMs ? new Date(Number(payable())) : null
}

function totalRateAt(balance: Balance, ms: bigint): bigint {
  return rateOfKindAt(balance, 'gpu', ms) + rateOfKindAt(balance, 'disk', ms)
}

function rateOfKindAt({ ends, ...rates }: Balance, kind: ChargeKind, ms: bigint): bigint {
  const ended = ends.filter(end => end.kind === kind && meterEndMs(end) <= ms)
  return rates[`${kind}RateNanos`] - sum(ended.map(({ rateNanos }) => rateNanos))
}

/** The cost of all disks and volumes per hour, now. */
export function currentDiskRate(balance: Balance): bigint {
  return rateOfKindAt(balance, 'disk', BigInt(balance.at.getTime()))
}

export type CreditStatus = {
  /** The remaining credit in whole nano-dollars. A negative value is the cost of disks since the credit ended. */
  creditNanos: bigint
  /** The cost per hour now. After the credit ends, only disks cost. */
  costPerHourNanos: bigint
  /** When the credit ends or ended if nothing changes; null if it never ends. */
  endsAt: Date | null
  hasEnded: boolean
}

/** The credit at `balance.at`. */
export function creditStatusOf(balance: Balance): CreditStatus {
  const now = BigInt(balance.at.getTime())
  const endsAt = calculateCreditEnd(balance)
  const end = endsAt === null ? now : BigInt(endsAt.getTime())
  const hasEnded = endsAt !== null && now >= end
  const remaining = hasEnded
    ? remainingPartsAt(balance, end) - diskCostParts(balance, end, now)
    : remainingPartsAt(balance, now)
  return {
    creditNanos: roundUpToNano(remaining),
    costPerHourNanos: hasEnded ? rateOfKindAt(balance, 'disk', now) : totalRateAt(balance, now),
    endsAt,
    hasEnded,
  }
}

/** Rounds up to whole nano-dollars, since a partly used nano-dollar is not charged yet. */
function roundUpToNano(remaining: bigint): bigint {
  return remaining > 0n ? (remaining + partsPerNano - 1n) / partsPerNano : remaining / partsPerNano
}
