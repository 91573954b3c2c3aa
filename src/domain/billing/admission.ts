// Decides whether an account may rent or start more, from its credit, its quotas and its failed starts.

import { accountDisabled, type Disabled } from '../accounts/disabled.ts'
import { quotaErrors } from '../accounts/quota-errors.ts'
import type { Quotas, QuotaUsage } from '../accounts/quotas.ts'
import type { DomainError } from '../errors.ts'
import { backoffError, type StartFailures } from '../instances/start-backoff.ts'
import { type ReserveRates, type ReserveRules, reserveError } from './reserve.ts'

export type AdmissionRules = ReserveRules & { quotas: Quotas }

/** What an account holds, or what a request adds to it. */
export type Holdings = ReserveRates & QuotaUsage

/**
 * The facts that decide an addition. `quotas` has the values that an operator set for the account, else the defaults.
 */
export type AdmissionFacts = {
  at: Date
  /** Set if an operator has disabled the account since the request began: its keys are refused otherwise. */
  disabled: Disabled | null
  creditNanos: bigint
  held: Holdings
  quotas: Quotas
  failures: StartFailures
}

const noHoldings: Holdings = { gpuPriceNanos: 0n, diskNanos: 0n, instances: 0, loading: 0, diskMb: 0, volumes: 0 }

export function completeHoldings(some: Partial<Holdings>): Holdings {
  return { ...noHoldings, ...some }
}

function addHoldings(one: Holdings, other: Holdings): Holdings {
  return combineHoldings(one, other, 1)
}

export function sumHoldings(all: readonly Holdings[]): Holdings {
  return all.reduce(addHoldings, noHoldings)
}

export function subtractHoldings(all: Holdings, part: Holdings): Holdings {
  return combineHoldings(all, part, -1)
}

function combineHoldings(one: Holdings, other: Holdings, sign: 1 | -1): Holdings {
  return {
    gpuPriceNanos: one.gpuPriceNanos + BigInt(sign) * other.gpuPriceNanos,
    diskNanos: one.diskNanos + BigInt(sign) * other.diskNanos,
    instances: one.instances + sign * other.instances,
    loading: one.loading + sign * other.loading,
    diskMb: one.diskMb + sign * other.diskMb,
    volumes: one.volumes + sign * other.volumes,
  }
}

/** Lists every reason to refuse `added` on top of what the account holds. */
export function admissionErrors(admission: AdmissionFacts, added: Holdings, rules: AdmissionRules): DomainError[] {
  const { at, disabled, creditNanos, held, quotas, failures } = admission
  if (disabled) return [accountDisabled(disabled)]
  const credit = reserveError(creditNanos, addHoldings(held, added), rules)
  const backoff = added.loading > 0 ? backoffError(failures, at) : undefined
  return [...(credit ? [credit] : []), ...quotaErrors(held, added, quotas), ...(backoff ? [backoff] : [])]
}

/**
 * Decides starts in order, each on top of those admitted before it. Returns the reason for each refused start by the
 * id of its instance.
 */
export function findRefusedStarts(
  admission: AdmissionFacts,
  starts: readonly { id: bigint; gpuPriceNanos: bigint }[],
  rules: AdmissionRules,
): Map<bigint, DomainError> {
  const refused = new Map<bigint, DomainError>()
  let { held } = admission
  for (const { id, gpuPriceNanos } of starts) {
    const added = completeHoldings({ gpuPriceNanos, loading: 1 })
    const [error] = admissionErrors({ ...admission, held }, added, rules)
    if (error) refused.set(id, error)
    else held = addHoldings(held, added)
  }
  return refused
}
