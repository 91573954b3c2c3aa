// Arranging what is to happen to an instance, and changing that.

import { costAt } from '../../billing/costs.ts'
import { type Issue, invalidInput } from '../../errors.ts'
import { printUsd } from '../../money.ts'
import { type Arrangement, noArrangement, type PolicyFacts, stoppedSince } from './policy.ts'

/** Null takes away what was arranged, and an absent part stays as it is. Durations are in whole seconds. */
export type PolicyWish = {
  stopAt?: Date | null | undefined
  stopAtCostNanos?: bigint | null | undefined
  destroyAt?: Date | null | undefined
  destroyStoppedSeconds?: number | null | undefined
}

const maxYears = 10
const maxSeconds = maxYears * 365 * 86_400

/** What a wish makes of an arrangement. What is wished again stays as it is. */
export function arrangementOf(wish: PolicyWish, before: Arrangement = noArrangement): Arrangement {
  const { stopAt, stopAtCostNanos, destroyAt, destroyStoppedSeconds: seconds } = wish
  return {
    stopAt: stopAt === undefined ? before.stopAt : stopAt,
    stopAtCostNanos: stopAtCostNanos === undefined ? before.stopAtCostNanos : stopAtCostNanos,
    destroyAt: destroyAt === undefined ? before.destroyAt : destroyAt,
    destroyStoppedMs:
      seconds === undefined ? before.destroyStoppedMs : seconds === null ? null : BigInt(seconds) * 1000n,
  }
}

/** The parts that are others than before. */
export function changedParts(after: Arrangement, before: Arrangement): (keyof Arrangement)[] {
  return (Object.keys(noArrangement) as (keyof Arrangement)[]).filter(
    part => after[part]?.valueOf() !== before[part]?.valueOf(),
  )
}

/** Everything that is wrong with what is new in an arrangement; without facts, for what is only to be rented. */
export function policyIssues(after: Arrangement, facts: PolicyFacts | undefined, at: Date): Issue[] {
  const isNew = changedParts(after, facts ?? noArrangement)
  const problems = {
    stopAt: instantProblem(after.stopAt, at),
    stopAtCost: costProblem(after.stopAtCostNanos, facts, at),
    destroyAt: instantProblem(after.destroyAt, at),
    destroyWhenStoppedFor: durationProblem(after.destroyStoppedMs, facts, at),
  }
  return partNames.flatMap(([part, path]) => {
    const message = isNew.includes(part) ? problems[path] : undefined
    return message === undefined ? [] : [{ path, message }]
  })
}

const partNames = [
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
export function changePolicy(facts: PolicyFacts, wish: PolicyWish, at: Date): Arrangement | null {
  const after = arrangementOf(wish, facts)
  const issues = policyIssues(after, facts, at)
  if (issues.length > 0) throw invalidInput(issues)
  return changedParts(after, facts).length > 0 ? after : null
}

/** What is arranged for later than the rental lasts does not happen. */
export function policyWarnings({ stopAt, destroyAt }: Arrangement, endsAt: Date): string[] {
  return Object.entries({ stopAt, destroyAt }).flatMap(([name, instant]) =>
    instant && instant >= endsAt
      ? [`${name} is after the end of the rental, which is destroyed at ${endsAt.toISOString()}.`]
      : [],
  )
}

/** For events: parts of an arrangement as they are told. */
export function policyFacts(arrangement: Arrangement, parts: readonly (keyof Arrangement)[]): Record<string, unknown> {
  const { stopAt, stopAtCostNanos, destroyAt, destroyStoppedMs } = arrangement
  const told = {
    stopAt: { stopAt: stopAt?.toISOString() ?? null },
    stopAtCostNanos: { stopAtCostNanos: stopAtCostNanos === null ? null : String(stopAtCostNanos) },
    destroyAt: { destroyAt: destroyAt?.toISOString() ?? null },
    destroyStoppedMs: { destroyWhenStoppedFor: destroyStoppedMs === null ? null : Number(destroyStoppedMs) / 1000 },
  }
  return Object.assign({}, ...parts.map(part => told[part]))
}
