// Arranging what is to happen to an instance, and changing that.

import { costAt } from '../../billing/costs.ts'
import { type Issue, invalidInput } from '../../errors.ts'
import { printUsd } from '../../money.ts'
import { noPolicy, type Policy, type PolicyFacts, stoppedSince } from './policy.ts'

/** Null takes away what was arranged, and an absent part stays as it is. Durations are in whole seconds. */
export type PolicyInput = {
  stopAt?: Date | null | undefined
  stopAtCostNanos?: bigint | null | undefined
  destroyAt?: Date | null | undefined
  destroyStoppedSeconds?: number | null | undefined
}

const maxYears = 10
const maxSeconds = maxYears * 365 * 86_400

/** What a wish makes of an arrangement. What is wished again stays as it is. */
export function mergePolicy(input: PolicyInput, before: Policy = noPolicy): Policy {
  const { stopAt, stopAtCostNanos, destroyAt, destroyStoppedSeconds: seconds } = input
  return {
    stopAt: stopAt === undefined ? before.stopAt : stopAt,
    stopAtCostNanos: stopAtCostNanos === undefined ? before.stopAtCostNanos : stopAtCostNanos,
    destroyAt: destroyAt === undefined ? before.destroyAt : destroyAt,
    destroyStoppedMs:
      seconds === undefined ? before.destroyStoppedMs : seconds === null ? null : BigInt(seconds) * 1000n,
  }
}

/** The parts that are others than before. */
export function changedPolicyFields(after: Policy, before: Policy): (keyof Policy)[] {
  return (Object.keys(noPolicy) as (keyof Policy)[]).filter(part => after[part]?.valueOf() !== before[part]?.valueOf())
}

/** Everything that is wrong with what is new in an arrangement; without facts, for what is only to be rented. */
export function policyIssues(after: Policy, facts: PolicyFacts | undefined, at: Date): Issue[] {
  const changed = changedPolicyFields(after, facts ?? noPolicy)
  const problems = {
    stopAt: instantProblem(after.stopAt, at),
    stopAtCost: costProblem(after.stopAtCostNanos, facts, at),
    destroyAt: instantProblem(after.destroyAt, at),
    destroyWhenStoppedFor: durationProblem(after.destroyStoppedMs, facts, at),
  }
  return policyFieldPaths.flatMap(([part, path]) => {
    const message = changed.includes(part) ? problems[path] : undefined
    return message === undefined ? [] : [{ path, message }]
  })
}

const policyFieldPaths = [
  ['stopAt', 'stopAt'],
  ['stopAtCostNanos', 'stopAtCost'],
  ['destroyAt', 'destroyAt'],
  ['destroyStoppedMs', 'destroyWhenStoppedFor'],
] as const

function instantProblem(instant: Date | null, at: Date): string | undefined {
  if (instant === null) return undefined
  if (instant <= at) return `must be in the future; it is ${at.toISOString()} now.`
  return instant.getTime() - at.getTime() > maxSeconds * 1000 ? `must be in the next ${maxYears} years.` : undefined
}

function costProblem(nanos: bigint | null, facts: PolicyFacts | undefined, at: Date): string | undefined {
  if (nanos === null) return undefined
  if (nanos <= 0n) return 'must be more than 0.'
  const cost = facts ? costAt(facts.meters, at) : 0n
  return nanos <= cost ? `must be more than ${printUsd(cost)}, what it has cost already.` : undefined
}

function durationProblem(ms: bigint | null, facts: PolicyFacts | undefined, at: Date): string | undefined {
  if (ms === null) return undefined
  const seconds = Number(ms) / 1000
  if (seconds < 1 || seconds > maxSeconds)
    return `must be from 1 to ${maxSeconds} seconds, which are ${maxYears} years.`
  const since = facts && stoppedSince(facts)
  const stopped = since ? Math.floor((at.getTime() - since.getTime()) / 1000) : 0
  return stopped >= seconds
    ? `must be more than ${stopped} seconds: it has been stopped for so long already.`
    : undefined
}

/** What a change makes of an instance's arrangement, or null where it is so already. Refused by throwing. */
export function decidePolicy(facts: PolicyFacts, input: PolicyInput, at: Date): Policy | null {
  const after = mergePolicy(input, facts)
  const issues = policyIssues(after, facts, at)
  if (issues.length > 0) throw invalidInput(issues)
  return changedPolicyFields(after, facts).length > 0 ? after : null
}

/** What is arranged for later than the rental lasts does not happen. */
export function policyWarnings({ stopAt, destroyAt }: Policy, endsAt: Date): string[] {
  return Object.entries({ stopAt, destroyAt }).flatMap(([name, instant]) =>
    instant && instant >= endsAt
      ? [`${name} is after the end of the rental, which is destroyed at ${endsAt.toISOString()}.`]
      : [],
  )
}

/** For events: parts of an arrangement as they are told. */
export function policyEventDetails(policy: Policy, fields: readonly (keyof Policy)[]): Record<string, unknown> {
  const { stopAt, stopAtCostNanos, destroyAt, destroyStoppedMs } = policy
  const details = {
    stopAt: { stopAt: stopAt?.toISOString() ?? null },
    stopAtCostNanos: { stopAtCostNanos: stopAtCostNanos === null ? null : String(stopAtCostNanos) },
    destroyAt: { destroyAt: destroyAt?.toISOString() ?? null },
    destroyStoppedMs: { destroyWhenStoppedFor: destroyStoppedMs === null ? null : Number(destroyStoppedMs) / 1000 },
  }
  return Object.assign({}, ...fields.map(part => details[part]))
}
