// What one thing has cost, and when it will have cost so much.

import { type Meter, parts } from './billing.ts'

export type CostMeter = Meter & {
  kind: 'compute' | 'disk'
  /** What it cost up to `since`. */
  chargedNanos: bigint
}

/** Instants beyond it are never: the last that a database and a calendar agree on. */
const lastMs = Date.parse('9999-12-31T23:59:59.999Z')

function partsAt({ chargedNanos, carried, rateNanos, since, end }: CostMeter, ms: number): bigint {
  const until = end === null ? ms : Math.min(ms, end.getTime())
  return chargedNanos * parts + BigInt(carried) + rateNanos * BigInt(Math.max(0, until - since.getTime()))
}

/** What all of them have cost at an instant, to the nano-dollar, as the ledger says when it is posted then. */
export function costAt(meters: CostMeter[], at: Date): bigint {
  return meters.reduce((sum, meter) => sum + partsAt(meter, at.getTime()) / parts, 0n)
}

/** The last millisecond at which they have cost no more than that, if everything goes on as it does; null for never. */
export function costEnd(meters: CostMeter[], limitNanos: bigint): Date | null {
  const left = (ms: number) => meters.reduce((rest, meter) => rest - partsAt(meter, ms), limitNanos * parts)
  const instants = meters.flatMap(({ since, end }) => [since.getTime(), ...(end === null ? [] : [end.getTime()])])
  const [first, ...others] = [...new Set(instants)].sort((a, b) => a - b)
  if (first === undefined) return null
  let ms = first
  if (left(ms) < 0n) return new Date(ms)
  for (const next of [...others, lastMs]) {
    const rate = meters.filter(meter => isCounting(meter, ms)).reduce((sum, { rateNanos }) => sum + rateNanos, 0n)
    const affordable = rate > 0n ? left(ms) / rate : undefined
    if (affordable !== undefined && affordable < BigInt(next - ms)) return new Date(ms + Number(affordable))
    ms = next
  }
  return null
}

/** The same meter, charged up to an instant, and going on from there. */
export function chargedUpTo(meter: CostMeter, at: Date): CostMeter {
  const all = partsAt(meter, at.getTime())
  return { ...meter, since: at, chargedNanos: all / parts, carried: Number(all % parts) }
}

function isCounting({ since, end }: CostMeter, ms: number): boolean {
  return since.getTime() <= ms && (end === null || end.getTime() > ms)
}
