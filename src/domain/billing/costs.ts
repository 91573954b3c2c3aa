// What one thing has cost and costs, and when it will have cost so much.

import { type ChargeKind, type CreditStatus, calculateMeterCharge, type Meter, partsPerNano } from './balance.ts'

/** A meter of an account, with what it cost so far as that is in the ledger. */
export type CostMeter = Meter & { kind: ChargeKind; chargedNanos: bigint }

/** What something has cost until now, and costs per hour now: as it is, and if it were stopped. */
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

/** GPUs cost nothing from the end of the credit on, also before anybody noted it. */
function meterEndOf({ kind, end }: CostMeter, { endsAt }: Pick<CreditStatus, 'endsAt'>): Date | null {
  if (kind === 'disk' || endsAt === null) return end
  return end !== null && end < endsAt ? end : endsAt
}

/** Instants beyond it are never: the last that a database and a calendar agree on. */
const maxDateMs = Date.parse('9999-12-31T23:59:59.999Z')

function costPartsAt({ chargedNanos, carried, rateNanos, since, end }: CostMeter, ms: number): bigint {
  const until = end === null ? ms : Math.min(ms, end.getTime())
  return chargedNanos * partsPerNano + BigInt(carried) + rateNanos * BigInt(Math.max(0, until - since.getTime()))
}

/** What all of them have cost at an instant, to the nano-dollar, as the ledger says when it is posted then. */
export function costAt(meters: CostMeter[], at: Date): bigint {
  return meters.reduce((sum, meter) => sum + costPartsAt(meter, at.getTime()) / partsPerNano, 0n)
}

/** The last millisecond at which they have cost no more than that, if everything goes on as it does; null for never. */
export function calculateCostLimitInstant(meters: CostMeter[], limitNanos: bigint): Date | null {
  const left = (ms: number) => meters.reduce((rest, meter) => rest - costPartsAt(meter, ms), limitNanos * partsPerNano)
  const instants = meters.flatMap(({ since, end }) => [since.getTime(), ...(end === null ? [] : [end.getTime()])])
  const [first, ...others] = [...new Set(instants)].sort((a, b) => a - b)
  if (first === undefined) return null
  let ms = first
  if (left(ms) < 0n) return new Date(ms)
  for (const next of [...others, maxDateMs]) {
    const rate = meters.filter(meter => isRunningAt(meter, ms)).reduce((sum, { rateNanos }) => sum + rateNanos, 0n)
    const affordable = rate > 0n ? left(ms) / rate : undefined
    if (affordable !== undefined && affordable < BigInt(next - ms)) return new Date(ms + Number(affordable))
    ms = next
  }
  return null
}

/** The same meter, charged up to an instant, and going on from there. */
export function advanceMeterTo(meter: CostMeter, at: Date): CostMeter {
  const all = costPartsAt(meter, at.getTime())
  return { ...meter, since: at, chargedNanos: all / partsPerNano, carried: Number(all % partsPerNano) }
}

function isRunningAt({ since, end }: CostMeter, ms: number): boolean {
  return since.getTime() <= ms && (end === null || end.getTime() > ms)
}
