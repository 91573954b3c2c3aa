// Whether an account may have more: its credit, its quotas, and its failed starts decide together.

import { quotaProblems } from '../accounts/quota-problems.ts'
import type { Quotas, QuotaUsage } from '../accounts/quotas.ts'
import type { DomainError } from '../errors.ts'
import { backoffProblem, type StartFailures } from '../instances/start-backoff.ts'
import { type ReserveRates, type ReserveRules, reserveProblem } from './reserve.ts'

export type AdmissionRules = ReserveRules & { quotas: Quotas }

/** What an account has, or what is added to it. */
export type Holdings = ReserveRates & QuotaUsage

/** An account as far as additions are concerned. `quotas` are its own where an operator set some. */
export type AdmissionFacts = {
  at: Date
  creditNanos: bigint
  held: Holdings
  quotas: Quotas
  failures: StartFailures
}

const noHoldings: Holdings = { computeNanos: 0n, diskNanos: 0n, instances: 0, loading: 0, diskMb: 0, volumes: 0 }

export function completeHoldings(some: Partial<Holdings>): Holdings {
  return { ...noHoldings, ...some }
}

export function addHoldings(one: Holdings, other: Holdings): Holdings {
  return combineHoldings(one, other, 1)
}

export function subtractHoldings(all: Holdings, part: Holdings): Holdings {
  return combineHoldings(all, part, -1)
}

function combineHoldings(one: Holdings, other: Holdings, sign: 1 | -1): Holdings {
  return {
    computeNanos: one.computeNanos + BigInt(sign) * other.computeNanos,
    diskNanos: one.diskNanos + BigInt(sign) * other.diskNanos,
    instances: one.instances + sign * other.instances,
    loading: one.loading + sign * other.loading,
    diskMb: one.diskMb + sign * other.diskMb,
    volumes: one.volumes + sign * other.volumes,
  }
}

/** Every reason against an addition to what the account holds. */
export function admissionProblems(admission: AdmissionFacts, added: Holdings, rules: AdmissionRules): DomainError[] {
  const { at, creditNanos, held, quotas, failures } = admission
  const credit = reserveProblem(creditNanos, addHoldings(held, added), rules)
  const backoff = added.loading > 0 ? backoffProblem(failures, at) : undefined
  return [...(credit ? [credit] : []), ...quotaProblems(held, added, quotas), ...(backoff ? [backoff] : [])]
}

/** Starts in their order, each beside those before it that are admitted: the reasons against the others, by their ids. */
export function findRefusedStarts(
  admission: AdmissionFacts,
  starts: readonly { id: bigint; computeNanos: bigint }[],
  rules: AdmissionRules,
): Map<bigint, DomainError> {
  const refused = new Map<bigint, DomainError>()
  let { held } = admission
  for (const { id, computeNanos } of starts) {
    const added = completeHoldings({ computeNanos, loading: 1 })
    const [problem] = admissionProblems({ ...admission, held }, added, rules)
    if (problem) refused.set(id, problem)
    else held = addHoldings(held, added)
  }
  return refused
}
