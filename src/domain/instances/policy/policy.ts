// What was arranged for an instance and happens by itself, each at an instant that is known before.

import { type CostMeter, chargedUpTo, costAt, costEnd } from '../../billing/costs.ts'
import { printUsd } from '../../money.ts'
import { type Instance, type Reason, type WishReason, wantsGpus } from '../instances.ts'
import { isFinal } from '../states.ts'

/** What a renter may arrange: a stop at an instant or a cost; destruction at an instant, or when stopped for so long. */
export type Arrangement = Pick<Instance, 'stopAt' | 'stopAtCostNanos' | 'destroyAt' | 'destroyStoppedMs'>

export const noArrangement: Arrangement = {
  stopAt: null,
  stopAtCostNanos: null,
  destroyAt: null,
  destroyStoppedMs: null,
}

export type PolicyFacts = Arrangement &
  Pick<Instance, 'createdAt' | 'endsAt' | 'destroyedAt' | 'targetState' | 'status' | 'statusChangedAt'> & {
    /** When its end was announced. */
    announcedAt: Date | null
    /** Since when it is wished what is wished. */
    claimedAt: Date
    computeNanos: bigint
    /** None before it is rented. */
    meters: CostMeter[]
  }

/**
 * What happens, and when: `announce` tells that its rental will end, `destroy` ends it; `lapse` is an instant to stop at
 * which comes when it is stopped already, and is over then.
 */
type Policy = { at: Date } & (
  | { deed: 'announce' | 'lapse' }
  | { deed: 'stop'; code: 'SCHEDULE' | 'COST_LIMIT' }
  | { deed: 'destroy'; reason: Ending }
)

type Ending = Reason & { code: WishReason }

/** So long before it ends that is told; at once, when it is rented for less. */
export const announcedMs = 24 * 3_600_000

/**
 * What happens to an instance next, and when; null for nothing. Each deed changes a fact by which it would be next, so
 * none is done twice. What comes before an end that is past already is left out.
 */
export function nextPolicy(facts: PolicyFacts, now: Date): Policy | null {
  if (facts.destroyedAt) return null
  const end = earliest(destructions(facts))
  if (now >= end.at) return end
  return earliest([end, ...stops(facts), ...spent(facts, now), ...announcement(facts)])
}

/** When its meters end by what is arranged: of that nothing is charged beyond, however late it is done. */
export function chargedUntil(facts: PolicyFacts): { compute: Date; disk: Date } {
  const end = earliest(destructions(facts))
  return { compute: earliest([end, ...stops(facts).filter(({ deed }) => deed === 'stop')]).at, disk: end.at }
}

function earliest<Deed extends { at: Date }>(deeds: readonly [Deed, ...Deed[]]): Deed {
  return deeds.reduce((first, deed) => (deed.at < first.at ? deed : first))
}

function destructions(facts: PolicyFacts): [Policy, ...Policy[]] {
  const { endsAt, destroyAt, destroyStoppedMs } = facts
  const since = stoppedSince(facts)
  const wait = Number(destroyStoppedMs)
  return [
    { at: endsAt, deed: 'destroy', reason: rentalEnded },
    ...(destroyAt ? [{ at: destroyAt, deed: 'destroy' as const, reason: toBeDestroyed }] : []),
    ...(since && wait > 0
      ? [{ at: new Date(since.getTime() + wait), deed: 'destroy' as const, reason: stoppedTooLong(wait) }]
      : []),
  ]
}

function stops(facts: PolicyFacts): Policy[] {
  const { stopAt, stopAtCostNanos, targetState, status, meters } = facts
  const runs = wantsGpus({ targetState, status, destroyed: false })
  const costsTooMuch = runs && stopAtCostNanos !== null ? costEnd(meters, stopAtCostNanos) : null
  return [
    ...(stopAt && runs ? [{ at: stopAt, deed: 'stop' as const, code: 'SCHEDULE' as const }] : []),
    ...(stopAt && !runs ? [{ at: stopAt, deed: 'lapse' as const }] : []),
    ...(costsTooMuch ? [{ at: costsTooMuch, deed: 'stop' as const, code: 'COST_LIMIT' as const }] : []),
  ]
}

/** What is to run stops also where its GPUs cost nothing now, since they were charged up to the last one paid for. */
function spent(facts: PolicyFacts, now: Date): Policy[] {
  const { targetState, status } = facts
  const runs = wantsGpus({ targetState, status, destroyed: false })
  return runs && isSpent(facts, now) ? [{ at: now, deed: 'stop', code: 'COST_LIMIT' }] : []
}

/** Whether what it is to cost does not pay for another instant of its GPUs. */
function isSpent({ stopAtCostNanos, meters, computeNanos }: PolicyFacts, at: Date): boolean {
  if (stopAtCostNanos === null) return false
  const running = meters.map(meter =>
    meter.kind === 'compute' ? { ...chargedUpTo(meter, at), rateNanos: computeNanos, end: null } : meter,
  )
  const end = costEnd(running, stopAtCostNanos)
  return end !== null && end <= at
}

function announcement({ createdAt, endsAt, announcedAt }: PolicyFacts): Policy[] {
  if (announcedAt) return []
  const announced = endsAt.getTime() - announcedMs
  return [{ at: announced < createdAt.getTime() ? createdAt : new Date(announced), deed: 'announce' }]
}

/** Since when it neither runs nor is to; null while it does either. */
export function stoppedSince({
  status,
  targetState,
  statusChangedAt,
  claimedAt,
}: Pick<PolicyFacts, 'status' | 'targetState' | 'statusChangedAt' | 'claimedAt'>): Date | null {
  if (isFinal(status)) return statusChangedAt
  if (targetState === 'running' || (status !== 'stopped' && status !== 'created')) return null
  // Who starts it and stops it again before anybody looked has stopped it anew.
  return claimedAt > statusChangedAt ? claimedAt : statusChangedAt
}

/** It is late, and nothing changes that any more. */
export function isAboutToGo(facts: PolicyFacts, at: Date): boolean {
  const next = nextPolicy(facts, at)
  return next?.deed === 'destroy' && next.at <= at
}

export const aboutToGo = 'It is about to be destroyed, as was arranged.'

/** Why an instance may not start by what is arranged for it. What it may cost must pay for its first instant. */
export function whyNoStart(facts: PolicyFacts, at: Date): string | undefined {
  const { stopAtCostNanos, meters } = facts
  if (isAboutToGo(facts, at)) return aboutToGo
  if (stopAtCostNanos === null || !isSpent(facts, at)) return undefined
  const [cost, limit] = [costAt(meters, at), stopAtCostNanos].map(printUsd)
  return `It has cost ${cost} $, and is to be stopped at ${limit} $: raise its stopAtCost, or take it away, to start it.`
}

const rentalEnded: Ending = {
  code: 'RENTAL_ENDED',
  message: 'Its machine left the market at the instant that was told when it was rented.',
}
const toBeDestroyed: Ending = { code: 'SCHEDULE', message: 'It was arranged to be destroyed at this instant.' }

function stoppedTooLong(ms: number): Ending {
  return { code: 'SCHEDULE', message: `It was arranged to be destroyed when it was stopped for ${ms / 1000} seconds.` }
}
