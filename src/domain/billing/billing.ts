// What things cost over time. A rate is nano-dollars per hour, so in a millisecond it makes that many parts of a
// nano-dollar, of which there are 3,600,000. What does not make a whole nano-dollar is carried on, so that it makes no
// difference how often something is charged.

export const parts = 3_600_000n

export type Charge = { amountNanos: bigint; carried: number }

export function charge(rateNanos: bigint, ms: number, carried: number): Charge {
  const all = rateNanos * BigInt(ms) + BigInt(carried)
  return { amountNanos: all / parts, carried: Number(all % parts) }
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
export function chargeUntil({ rateNanos, since, carried, end }: Meter, until: Date) {
  const periodEnd = end !== null && end < until ? end : until
  const ms = Math.max(0, periodEnd.getTime() - since.getTime())
  return {
    periodStart: since,
    periodEnd,
    rateNanos,
    carried,
    ms,
    amountNanos: charge(rateNanos, ms, carried).amountNanos,
  }
}

/** What was charged for a period, and how much of that is beyond an instant. */
export function chargedBeyond(
  { periodStart, rateNanos, carried, amountNanos }: Omit<ReturnType<typeof chargeUntil>, 'ms' | 'periodEnd'>,
  instant: Date,
): bigint {
  const ms = Math.max(0, instant.getTime() - periodStart.getTime())
  return amountNanos - charge(rateNanos, ms, carried).amountNanos
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
function partsAt(balance: Balance, ms: bigint): bigint {
  const { postedNanos, computeRateNanos, computeOrigin, diskRateNanos, diskOrigin, ends } = balance
  const spent = (computeRateNanos + diskRateNanos) * ms - computeOrigin - diskOrigin
  const beyond = sum(ends.map(end => end.rateNanos * positive(ms - endMs(end))))
  return postedNanos * parts - spent + beyond + remaindersOf(ends.filter(end => endMs(end) <= ms))
}

/** What ended meters leave over of a nano-dollar each. Nobody is charged for it. */
function remaindersOf(ends: readonly MeterEnd[]): bigint {
  const remainders = ends.map(end => {
    const ms = Number(endMs(end)) - end.since.getTime()
    return BigInt(charge(end.rateNanos, ms, end.carried).carried)
  })
  return sum(remainders)
}

/** What disks cost from one instant to another, in parts. */
function diskParts({ diskRateNanos, ends }: Balance, from: bigint, to: bigint): bigint {
  const ended = ends.filter(({ kind }) => kind === 'disk')
  const beyond = ended.map(end => end.rateNanos * positive(to - (endMs(end) > from ? endMs(end) : from)))
  const dropped = remaindersOf(ended.filter(end => endMs(end) > from && endMs(end) <= to))
  return diskRateNanos * (to - from) - sum(beyond) - dropped
}

const endMs = ({ since, at }: { since: Date; at: Date }) => BigInt(Math.max(since.getTime(), at.getTime()))
const positive = (value: bigint) => (value > 0n ? value : 0n)
const sum = (values: bigint[]) => values.reduce((total, value) => total + value, 0n)

/** Dates are written with four digits of the year. */
const never = BigInt(Date.UTC(10_000, 0))

/**
 * The last millisecond that the account can pay for, if everything goes on as it does; null where it costs nothing, or so
 * little that no date says when. From then on no GPU is charged: that a gateway finds so late is not the renter's to pay.
 */
export function creditEnd(balance: Balance): Date | null {
  let ms = BigInt(balance.meteredAt.getTime())
  let left = partsAt(balance, ms)
  if (left < 0n) return balance.meteredAt
  let rate = rateAt(balance, ms)
  const payable = () => (rate > 0n ? ms + left / rate : never)
  const steps = Map.groupBy(
    balance.ends.filter(end => endMs(end) > ms),
    end => endMs(end),
  )
  for (const [next, ends] of [...steps].sort(([one], [other]) => Number(one - other))) {
    const leftThen = left - rate * (next - ms) + remaindersOf(ends)
    if (payable() < next - 1n || leftThen < 0n) break
    left = leftThen
    rate -= sum(ends.map(({ rateNanos }) => rateNanos))
    ms = next
  }
  return payable() < never ? new Date(Number(payable())) : null
}

function rateAt(balance: Balance, ms: bigint): bigint {
  return rateOf(balance, 'compute', ms) + rateOf(balance, 'disk', ms)
}

function rateOf({ ends, ...rates }: Balance, kind: ChargeKind, ms: bigint): bigint {
  const ended = ends.filter(end => end.kind === kind && endMs(end) <= ms)
  return rates[`${kind}RateNanos`] - sum(ended.map(({ rateNanos }) => rateNanos))
}

/** What all disks and volumes cost per hour now. */
export function diskRateOf(balance: Balance): bigint {
  return rateOf(balance, 'disk', BigInt(balance.at.getTime()))
}

export type Standing = {
  /** What is left, to the nano-dollar. Below zero is what disks cost since it ended. */
  creditNanos: bigint
  /** What everything costs per hour now. */
  burnNanos: bigint
  /** When the credit ends, if everything goes on as it does; null where nothing costs anything. */
  endsAt: Date | null
  /** Whether it has ended. */
  isOver: boolean
}

/** How an account stands at the instant that is asked for. */
export function standingOf(balance: Balance): Standing {
  const now = BigInt(balance.at.getTime())
  const endsAt = creditEnd(balance)
  const end = endsAt === null ? now : BigInt(endsAt.getTime())
  const isOver = endsAt !== null && now >= end
  const left = isOver ? partsAt(balance, end) - diskParts(balance, end, now) : partsAt(balance, now)
  return {
    creditNanos: roundedUp(left),
    burnNanos: isOver ? rateOf(balance, 'disk', now) : rateAt(balance, now),
    endsAt,
    isOver,
  }
}

/** In whole nano-dollars: of one that is begun nothing is charged yet. */
function roundedUp(left: bigint): bigint {
  return left > 0n ? (left + parts - 1n) / parts : left / parts
}
