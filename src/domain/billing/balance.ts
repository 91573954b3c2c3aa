// What things cost over time. A rate is nano-dollars per hour, so in a millisecond it makes that many parts of a
// nano-dollar, of which there are 3,600,000. What does not make a whole nano-dollar is carried on, so that it makes no
// difference how often something is charged.

export const partsPerNano = 3_600_000n

export type Charge = { amountNanos: bigint; carried: number }

export function calculateCharge(rateNanos: bigint, ms: number, carried: number): Charge {
  const all = rateNanos * BigInt(ms) + BigInt(carried)
  return { amountNanos: all / partsPerNano, carried: Number(all % partsPerNano) }
}

/** What goes on costing something, and is charged up to `since`. */
export type Meter = {
  rateNanos: bigint
  since: Date
  carried: number
  /** When it ended, if that is not charged yet. */
  end: Date | null
}

/** A charge for a period: never for less than nothing, and nothing beyond the end of the meter. */
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

/** What was charged for a period, and how much of that is beyond an instant. */
export function calculateChargedAfter(
  { periodStart, rateNanos, carried, amountNanos }: Omit<ReturnType<typeof calculateMeterCharge>, 'ms' | 'periodEnd'>,
  instant: Date,
): bigint {
  const ms = Math.max(0, instant.getTime() - periodStart.getTime())
  return amountNanos - calculateCharge(rateNanos, ms, carried).amountNanos
}

/**
 * What an account has, and what takes of it: the sum of its ledger and, of all its running meters together, the rates and
 * the origins, which are the sums of rate times `since` in ms less what is carried. So it costs nothing that time passes.
 * A meter that has ended takes whole nano-dollars, so an account in which nothing runs has exactly the sum of its ledger.
 */
export type Balance = {
  /** The instant that is asked for, but never one before `meteredAt`: an account's time does not go back. */
  at: Date
  /** No meter begins later. */
  meteredAt: Date
  postedNanos: bigint
  computeRateNanos: bigint
  computeOrigin: bigint
  diskRateNanos: bigint
  diskOrigin: bigint
  /** Meters that ended, and are in the sums as if they had not. */
  ends: MeterEnd[]
}

export type MeterEnd = { kind: ChargeKind; rateNanos: bigint; since: Date; carried: number; at: Date }
export type ChargeKind = 'compute' | 'disk'

/** What there is at that instant, in parts, while everything goes on. */
function remainingPartsAt(balance: Balance, ms: bigint): bigint {
  const { postedNanos, computeRateNanos, computeOrigin, diskRateNanos, diskOrigin, ends } = balance
  const spent = (computeRateNanos + diskRateNanos) * ms - computeOrigin - diskOrigin
  const beyond = sum(ends.map(end => end.rateNanos * atLeastZero(ms - meterEndMs(end))))
  return postedNanos * partsPerNano - spent + beyond + sumRemainders(ends.filter(end => meterEndMs(end) <= ms))
}

/** What ended meters leave over of a nano-dollar each. Nobody is charged for it. */
function sumRemainders(ends: readonly MeterEnd[]): bigint {
  const remainders = ends.map(end => {
    const ms = Number(meterEndMs(end)) - end.since.getTime()
    return BigInt(calculateCharge(end.rateNanos, ms, end.carried).carried)
  })
  return sum(remainders)
}

/** What disks cost from one instant to another, in parts. */
function diskCostParts({ diskRateNanos, ends }: Balance, from: bigint, to: bigint): bigint {
  const ended = ends.filter(({ kind }) => kind === 'disk')
  const beyond = ended.map(end => end.rateNanos * atLeastZero(to - (meterEndMs(end) > from ? meterEndMs(end) : from)))
  const dropped = sumRemainders(ended.filter(end => meterEndMs(end) > from && meterEndMs(end) <= to))
  return diskRateNanos * (to - from) - sum(beyond) - dropped
}

const meterEndMs = ({ since, at }: { since: Date; at: Date }) => BigInt(Math.max(since.getTime(), at.getTime()))
const atLeastZero = (value: bigint) => (value > 0n ? value : 0n)
const sum = (values: bigint[]) => values.reduce((total, value) => total + value, 0n)

/** Dates are written with four digits of the year. */
const neverMs = BigInt(Date.UTC(10_000, 0))

/**
 * The last millisecond that the account can pay for, if everything goes on as it does; null where it costs nothing, or so
 * little that no date says when. From then on no GPU is charged: that a gateway finds so late is not the renter's to pay.
 */
export function calculateCreditEnd(balance: Balance): Date | null {
  let ms = BigInt(balance.meteredAt.getTime())
  let left = remainingPartsAt(balance, ms)
  if (left < 0n) return balance.meteredAt
  let rate = totalRateAt(balance, ms)
  const payable = () => (rate > 0n ? ms + left / rate : neverMs)
  const steps = Map.groupBy(
    balance.ends.filter(end => meterEndMs(end) > ms),
    end => meterEndMs(end),
  )
  for (const [next, ends] of [...steps].sort(([one], [other]) => Number(one - other))) {
    const leftThen = left - rate * (next - ms) + sumRemainders(ends)
    if (payable() < next - 1n || leftThen < 0n) break
    left = leftThen
    rate -= sum(ends.map(({ rateNanos }) => rateNanos))
    ms = next
  }
  return payable() < neverMs ? new Date(Number(payable())) : null
}

function totalRateAt(balance: Balance, ms: bigint): bigint {
  return rateOfKindAt(balance, 'compute', ms) + rateOfKindAt(balance, 'disk', ms)
}

function rateOfKindAt({ ends, ...rates }: Balance, kind: ChargeKind, ms: bigint): bigint {
  const ended = ends.filter(end => end.kind === kind && meterEndMs(end) <= ms)
  return rates[`${kind}RateNanos`] - sum(ended.map(({ rateNanos }) => rateNanos))
}

/** What all disks and volumes cost per hour now. */
export function currentDiskRate(balance: Balance): bigint {
  return rateOfKindAt(balance, 'disk', BigInt(balance.at.getTime()))
}

export type CreditStatus = {
  /** What is left, to the nano-dollar. Below zero is what disks cost since it ended. */
  creditNanos: bigint
  /** What everything costs per hour now. */
  costPerHourNanos: bigint
  /** When the credit ends, if everything goes on as it does; null where nothing costs anything. */
  endsAt: Date | null
  /** Whether it has ended. */
  hasEnded: boolean
}

/** How an account stands at the instant that is asked for. */
export function creditStatusOf(balance: Balance): CreditStatus {
  const now = BigInt(balance.at.getTime())
  const endsAt = calculateCreditEnd(balance)
  const end = endsAt === null ? now : BigInt(endsAt.getTime())
  const hasEnded = endsAt !== null && now >= end
  const left = hasEnded
    ? remainingPartsAt(balance, end) - diskCostParts(balance, end, now)
    : remainingPartsAt(balance, now)
  return {
    creditNanos: roundUpToNano(left),
    costPerHourNanos: hasEnded ? rateOfKindAt(balance, 'disk', now) : totalRateAt(balance, now),
    endsAt,
    hasEnded,
  }
}

/** In whole nano-dollars: of one that is begun nothing is charged yet. */
function roundUpToNano(left: bigint): bigint {
  return left > 0n ? (left + partsPerNano - 1n) / partsPerNano : left / partsPerNano
}
