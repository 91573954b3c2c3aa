// Checks and merges a change of an instance's policy.

import { costAt } from '../../billing/costs.ts'
import { type Issue, invalidInput } from '../../errors.ts'
import { printUsd } from '../../money.ts'
import { noPolicy, type Policy, type PolicyFacts, stoppedSince } from './policy.ts'

/** Null removes a field of the policy, and an absent field stays as it is. Durations are whole seconds. */
export type PolicyInput = {
  stopAt?: Date | null | undefined
  stopAtCostNanos?: bigint | null | undefined
  destroyAt?: Date | null | undefined
  destroyStoppedSeconds?: number | null | undefined
  stopWhenIdle?: { gpuPercent: number; seconds: number } | null | undefined
}

const maxYears = 10
const maxSeconds = maxYears * 365 * 86_400
const [minIdleSeconds, maxIdleSeconds] = [60, 30 * 86_400]

export function mergePolicy(input: PolicyInput, before: Policy = noPolicy): Policy {
  const { stopAt, stopAtCostNanos, destroyAt, destroyStoppedSeconds: seconds, stopWhenIdle } = input
  return {
    stopAt: stopAt === undefined ? before.stopAt : stopAt,
    stopAtCostNanos: stopAtCostNanos === undefined ? before.stopAtCostNanos : stopAtCostNanos,
    destroyAt: destroyAt === undefined ? before.destroyAt : destroyAt,
    destroyStoppedMs:
      seconds === undefined ? before.destroyStoppedMs : seconds === null ? null : BigInt(seconds) * 1000n,
    idleGpuPercent: stopWhenIdle === undefined ? before.idleGpuPercent : (stopWhenIdle?.gpuPercent ?? null),
    idleSeconds: stopWhenIdle === undefined ? before.idleSeconds : (stopWhenIdle?.seconds ?? null),
  }
}

export function changedPolicyFields(after: Policy, before: Policy): (keyof Policy)[] {
  return (Object.keys(noPolicy) as (keyof Policy)[]).filter(part => after[part]?.valueOf() !== before[part]?.valueOf())
}

/** All problems of the changed fields of a policy. `facts` is undefined before the instance is rented. */
export function policyIssues(after: Policy, facts: PolicyFacts | undefined, at: Date): Issue[] {
  const changed = changedPolicyFields(after, facts ?? noPolicy)
  const problems = {
    stopAt: instantProblem(after.stopAt, at),
    stopAtCost: costProblem(after.stopAtCostNanos, facts, at),
    destroyAt: instantProblem(after.destroyAt, at),
    destroyAfterStoppedSeconds: durationProblem(after.destroyStoppedMs, facts, at),
    'stopWhenIdle.gpuBelowPercent': rangeProblem(after.idleGpuPercent, 1, 100),
    'stopWhenIdle.forSeconds': rangeProblem(after.idleSeconds, minIdleSeconds, maxIdleSeconds),
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
  ['destroyStoppedMs', 'destroyAfterStoppedSeconds'],
  ['idleGpuPercent', 'stopWhenIdle.gpuBelowPercent'],
  ['idleSeconds', 'stopWhenIdle.forSeconds'],
] as const

function instantProblem(instant: Date | null, at: Date): string | undefined {
  if (instant === null) return undefined
  if (instant <= at) return `must be in the future: the time is now ${at.toISOString()}.`
  return instant.getTime() - at.getTime() > maxSeconds * 1000 ? `must be within the next ${maxYears} years.` : undefined
}

function rangeProblem(value: number | null, least: number, most: number): string | undefined {
  if (value === null || (value >= least && value <= most)) return undefined
  return `must be from ${least} to ${most}, not ${value}.`
}

function costProblem(nanos: bigint | null, facts: PolicyFacts | undefined, at: Date): string | undefined {
  if (nanos === null) return undefined
  if (nanos <= 0n) return 'must be more than 0.'
  const cost = facts ? costAt(facts.meters, at) : 0n
  return nanos <= cost ? `must be more than $${printUsd(cost)}, which the instance has already cost.` : undefined
}

function durationProblem(ms: bigint | null, facts: PolicyFacts | undefined, at: Date): string | undefined {
  if (ms === null) return undefined
  const seconds = Number(ms) / 1000
  if (seconds < 1 || seconds > maxSeconds)
    return `must be from 1 to ${maxSeconds} seconds (${maxYears} years), not ${seconds}.`
  const since = facts && stoppedSince(facts)
  const stopped = since ? Math.floor((at.getTime() - since.getTime()) / 1000) : 0
  return stopped >= seconds
    ? `must be more than ${stopped} seconds, because the instance has already been stopped that long.`
    : undefined
}

/** The changed policy, or null when nothing changes. Throws when the change is refused. */
export function decidePolicy(facts: PolicyFacts, input: PolicyInput, at: Date): Policy | null {
  const after = mergePolicy(input, facts)
  const issues = policyIssues(after, facts, at)
  if (issues.length > 0) throw invalidInput(issues)
  return changedPolicyFields(after, facts).length > 0 ? after : null
}

/** An instant after the end of the rental has no effect. */
export function policyWarnings({ stopAt, destroyAt }: Policy, endsAt: Date): string[] {
  return Object.entries({ stopAt, destroyAt }).flatMap(([name, instant]) =>
    instant && instant >= endsAt
      ? [
          `${name} is after the end of the rental, so it has no effect: the instance is destroyed at ${endsAt.toISOString()}.`,
        ]
      : [],
  )
}

/** Fields of a policy, in the names and units that events show. */
export function policyEventDetails(
  policy: Policy,
  fields: readonly (keyof Policy)[],
): Record<string, string | number | null> {
  const { stopAt, stopAtCostNanos, destroyAt, destroyStoppedMs, idleGpuPercent, idleSeconds } = policy
  const details = {
    stopAt: { stopAt: stopAt?.toISOString() ?? null },
    stopAtCostNanos: { stopAtCostNanos: stopAtCostNanos === null ? null : String(stopAtCostNanos) },
    destroyAt: { destroyAt: destroyAt?.toISOString() ?? null },
    destroyStoppedMs: {
      destroyAfterStoppedSeconds: destroyStoppedMs === null ? null : Number(destroyStoppedMs) / 1000,
    },
    idleGpuPercent: { stopWhenGpuBelowPercent: idleGpuPercent },
    idleSeconds: { stopWhenIdleForSeconds: idleSeconds },
  }
  return Object.assign({}, ...fields.map(part => details[part]))
}
