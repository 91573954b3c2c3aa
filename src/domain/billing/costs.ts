// Costs of one instance or volume: until now, per hour, and the instant at which they reach a limit.

import { type ChargeKind, type CreditStatus, calculateMeterCharge, type Meter, partsPerNano } from './balance.ts'

/** A meter, and its costs that are already in the ledger. */
export type CostMeter = Meter & { kind: ChargeKind; chargedNanos: bigint }

/** The cost until now, and the costs per hour: now, and if the resource were stopped. */
export type Cost = { accruedNanos: bigint; costPerHourNanos: bigint; costPerHourWhenStoppedNanos: bigint }

export function costOf(meters: readonly CostMeter[], account: Pick<CreditStatus, 'endsAt'> & { at: Date }): Cost {
  const { at } = account
  const costs = meters.map(meter => {
    const end = meterEndOf(meter, account)
    const rateNanos = end === null || end > at ? meter.rateNanos : 0n
    return {
      accruedNanos: meter.chargedNanos + calculateMeterCharge({ ...meter, end }, at).amountNanos,
      costPerHourNanos: rateNanos,
      costPerHourWhenStoppedNanos: meter.kind === 'disk' ? rateNanos : 0n,
    }
  })
  const sum = (name: keyof Cost) => costs.reduce((total, cost) => total + cost[name], 0n)
  return {
    accruedNanos: sum('accruedNanos'),
    costPerHourNanos: sum('costPerHourNanos'),
    costPerHourWhenStoppedNanos: sum('costPerHourWhenStoppedNanos'),
  }
}

/** GPUs cost nothing after the credit ends, even before the gateway records that end. */
function meterEndOf({ kind, end }: CostMeter, { endsAt }: Pick<CreditStatus, 'endsAt'>): Date | null {
  if (kind === 'disk' || endsAt === null) return end
  return end !== null && end < endsAt ? end : endsAt
}

/** A later instant counts as never. This is the last one that both the database and a calendar date allow. */
const maxDateMs = Date.parse('9999-12-31T23:59:59.999Z')

function costPartsAt({ chargedNanos, carried, rateNanos, since, end }: CostMeter, ms: number): bigint {
  const until = end === null ? ms : Math.min(ms, end.getTime())
  return chargedNanos * partsPerNano + BigInt(carried) + rateNanos * BigInt(Math.max(0, until - since.getTime()))
}

/**
 * The cost of all meters at an instant, in whole nano-dollars. Charges posted at that instant give the ledger the same
 * sum.
 */
export function costAt(meters: CostMeter[], at: Date): bigint {
  return meters.reduce((sum, meter) => sum + costPartsAt(meter, at.getTime()) / partsPerNano, 0n)
}

/**
 * The last millisecond at which the meters have cost at most `limitNanos` if nothing changes; null if they never
 * exceed it.
 */
export function calculateCostLimitInstant(meters: CostMeter[], limitNanos: bigint): Date | null {
  const remaining = (ms: number) =>
    meters.reduce((rest, meter) => rest - costPartsAt(meter, ms), limitNanos * partsPerNano)
  const instants = meters.flatMap(({ since, end }) => [since.getTime(), ...(end === null ? [] : [end.getTime()])])
  const [first, ...others] = [...new Set(instants)].sort((a, b) => a - b)
  if (first === undefined) return null
  let ms = first
  if (remaining(ms) < 0n) return new Date(ms)
  for (const next of [...others, maxDateMs]) {
    const rate = meters.filter(meter => isRunningAt(meter, ms)).reduce((sum, { rateNanos }) => sum + rateNanos, 0n)
    const affordable = rate > 0n ? remaining(ms) / rate : undefined
    if (affordable !== undefined && affordable < BigInt(next - ms)) return new Date(ms + Number(affordable))
    ms = next
  }
  return null
}

/** The same meter, charged up to `at` and still running. */
export function advanceMeterTo(meter: CostMeter, at: Date): CostMeter {
  const all = costPartsAt(meter, at.getTime())
  return { ...meter, since: at, chargedNanos: all / partsPerNano, carried: Number(all % partsPerNano) }
}

function isRunningAt({ since, end }: CostMeter, ms: number): boolean {
  return since.getTime() <= ms && (end === null || end.getTime() > ms)
}
