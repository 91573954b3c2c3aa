// What things cost, told without a ledger: how long which rate went on, in parts of a nano-dollar.

const partsPerNano = 3_600_000n

type RatePeriod = { rateNanos: bigint; start: number; end: number }

/** Something that costs, at one rate after another. Instants are in ms. */
export type ModelMeter = { periods: RatePeriod[]; open: { rateNanos: bigint; since: number; end: number } | null }

export function createModelMeter(rateNanos: bigint, since: number): ModelMeter {
  return { periods: [], open: rateNanos > 0n ? { rateNanos, since, end: Number.POSITIVE_INFINITY } : null }
}

/** Charged up to an instant, or to where it ended before. */
export function chargeUpTo(costing: ModelMeter, at: number): void {
  const { open } = costing
  if (!open) return
  const end = Math.max(open.since, Math.min(at, open.end))
  costing.periods.push({ rateNanos: open.rateNanos, start: open.since, end })
  costing.open = open.end <= at ? null : { ...open, since: end }
}

/** Nothing that it cost after an instant counts. */
export function discardAfter(costing: ModelMeter, at: number): void {
  chargeUpTo(costing, at)
  costing.open = null
  costing.periods = costing.periods
    .filter(({ start }) => start < at)
    .map(stretch => ({ ...stretch, end: Math.min(stretch.end, at) }))
}

/** In whole nano-dollars, between two instants, where now is the last that counts. */
export function costBetween({ periods, open }: ModelMeter, from: number, to: number, now: number): bigint {
  const all = open ? [...periods, { ...open, start: open.since, end: Math.min(open.end, now) }] : periods
  const until = (instant: number) =>
    all.reduce((sum, { rateNanos, start, end }) => {
      return sum + rateNanos * BigInt(Math.max(0, Math.min(end, instant) - start))
    }, 0n) / partsPerNano
  return until(to) - until(from)
}
