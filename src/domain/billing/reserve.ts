// The credit an account must have before it adds something that costs: pure figures, in whole nano-dollars.

import { DomainError } from '../errors.ts'
import { printUsd } from '../money.ts'
import { partsPerNano } from './balance.ts'

/** What an account would cost per hour: GPUs it runs or waits for, and all disks and volumes. */
export type ReserveRates = { computeNanos: bigint; diskNanos: bigint }

/** `minimumRunwayMs`: credit must pay everything for this long. `debtGraceMs`: and then disks for this long. */
export type ReserveRules = { minimumRunwayMs: number; debtGraceMs: number }

/** The credit that `rates` need, rounded up. Disks are counted through the grace too: without credit they cost on. */
export function calculateRequiredCredit({ computeNanos, diskNanos }: ReserveRates, rules: ReserveRules): bigint {
  const runwayMs = BigInt(Math.ceil(rules.minimumRunwayMs))
  const graceMs = BigInt(Math.ceil(rules.debtGraceMs))
  const needed = (computeNanos + diskNanos) * runwayMs + diskNanos * graceMs
  return (needed + partsPerNano - 1n) / partsPerNano
}

/** Why credit does not allow an addition; `rates` include it. */
export function reserveProblem(
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
  const figures = `The account has ${printUsd(availableNanos)} $ and needs ${printUsd(neededNanos)} $`
  const why = `${hours(minimumRunwayMs)} of everything it would run, and ${hours(debtGraceMs)} more of its disks`
  return `You lack credit. ${figures}: ${why}.`
}
