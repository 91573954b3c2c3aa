// The credit that an account needs before it adds costs, in whole nano-dollars.

import { DomainError } from '../errors.ts'
import { printUsd } from '../money.ts'
import { partsPerNano } from './balance.ts'

/** The cost of an account per hour: GPUs that run or wait to run, and all disks and volumes. */
export type ReserveRates = { gpuPriceNanos: bigint; diskNanos: bigint }

/** Credit must pay for everything for `minimumRunwayMs`, and then for disks alone for `debtGraceMs`. */
export type ReserveRules = { minimumRunwayMs: number; debtGraceMs: number }

/**
 * The credit that these rates need, rounded up. Disks also count for the grace period: they cost even without credit.
 */
export function calculateRequiredCredit({ gpuPriceNanos, diskNanos }: ReserveRates, rules: ReserveRules): bigint {
  const runwayMs = BigInt(Math.ceil(rules.minimumRunwayMs))
  const graceMs = BigInt(Math.ceil(rules.debtGraceMs))
  const needed = (gpuPriceNanos + diskNanos) * runwayMs + diskNanos * graceMs
  return (needed + partsPerNano - 1n) / partsPerNano
}

/** Why credit does not allow an addition. `rates` must include the addition. */
export function reserveError(
  availableNanos: bigint,
  rates: ReserveRates,
  rules: ReserveRules,
): DomainError | undefined {
  const neededNanos = calculateRequiredCredit(rates, rules)
  if (availableNanos > 0n && availableNanos >= neededNanos) return undefined
  const message =
    availableNanos > 0n ? insufficientCreditMessage(availableNanos, neededNanos, rules) : 'You lack credit.'
  return new DomainError('INSUFFICIENT_CREDIT', message, { availableNanos, neededNanos })
}

function insufficientCreditMessage(
  availableNanos: bigint,
  neededNanos: bigint,
  { minimumRunwayMs, debtGraceMs }: ReserveRules,
): string {
  const hours = (ms: number) => `${Math.round(ms / 36_000) / 100} h`
  const figures = `The account has $${printUsd(availableNanos)} and needs $${printUsd(neededNanos)}`
  const why = `enough for ${hours(minimumRunwayMs)} of all costs and ${hours(debtGraceMs)} more of disks`
  return `You lack credit. ${figures}: ${why}.`
}

/** Why an account cannot rent, start or do anything else that costs money: it has no credit left. */
export function creditError(availableNanos: bigint): DomainError | undefined {
  if (availableNanos > 0n) return undefined
  return new DomainError('INSUFFICIENT_CREDIT', 'You lack credit.', { availableNanos, neededNanos: null })
}
