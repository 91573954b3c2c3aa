// A model of costs without a ledger: the rates and how long each applied, in parts of a nano-dollar.

const partsPerNano = 3_600_000n

type RatePeriod = { rateNanos: bigint; start: number; end: number }

/** A cost with one rate after another. Instants are in ms. */
export type ModelMeter = { periods: RatePeriod[]; open: { rateNanos: bigint; since: number; end: number } | null }

export function createModelMeter(rateNanos: bigint, since: number): ModelMeter {
  return { periods: [], open: rateNanos > 0n ? { rateNanos, since, end: Number.POSITIVE_INFINITY } : null }
}

/** Charges up to an instant, or to the end if that is earlier. */
export function chargeUpTo(meter: ModelMeter, at: number): void {
  const { open } = meter
  if (!open) return
  const end = Math.max(open.since, Math.min(at, open.end))
  meter.periods.push({ rateNanos: open.rateNanos, start: open.since, end })
  meter.open = open.end <= at ? null : { ...open, since: end }
}

/** Discards all costs after an instant. */
export function discardAfter(meter: ModelMeter, at: number): void {
  chargeUpTo(meter, at)
  meter.open = null
  meter.periods = meter.periods
    .filter(({ start }) => start < at)
    .map(period => ({ ...period, end: Math.min(period.end, at) }))
}

/** The cost between two instants in whole nano-dollars. Costs after `now` do not count. */
export function costBetween({ periods, open }: ModelMeter, from: number, to: number, now: number): bigint {
  const all = open ? [...periods, { ...open, start: open.since, end: Math.min(open.end, now) }] : periods
  const until = (instant: number) =>
    all.reduce((sum, { rateNanos, start, end }) => {
      return sum + rateNanos * BigInt(Math.max(0, Math.min(end, instant) - start))
    }, 0n) / partsPerNano
  return until(to) - until(from)
}
