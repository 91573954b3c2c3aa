// What was arranged for an instance and happens by itself, each at an instant that is known before.

import { advanceMeterTo, type CostMeter, calculateCostLimitInstant, costAt } from '../../billing/costs.ts'
import { printUsd } from '../../money.ts'
import { type Instance, type Reason, type TargetReason, wantsGpus } from '../instances.ts'
import { isFinal } from '../states.ts'

/** What a renter may arrange: a stop at an instant or a cost; destruction at an instant, or when stopped for so long. */
export type Policy = Pick<Instance, 'stopAt' | 'stopAtCostNanos' | 'destroyAt' | 'destroyStoppedMs'>

export const noPolicy: Policy = {
  stopAt: null,
  stopAtCostNanos: null,
  destroyAt: null,
  destroyStoppedMs: null,
}

export type PolicyFacts = Policy &
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
type DueAction = { at: Date } & (
  | { kind: 'announce' | 'lapse' }
  | { kind: 'stop'; code: 'SCHEDULE' | 'COST_LIMIT' }
  | { kind: 'destroy'; reason: DestroyReason }
)

type DestroyReason = Reason & { code: TargetReason }

/** So long before it ends that is told; at once, when it is rented for less. */
export const endWarningMs = 24 * 3_600_000

/**
 * What happens to an instance next, and when; null for nothing. Each deed changes a fact by which it would be next, so
 * none is done twice. What comes before an end that is past already is left out.
 */
export function nextAction(facts: PolicyFacts, now: Date): DueAction | null {
  if (facts.destroyedAt) return null
  const end = earliest(destroyActions(facts))
  if (now >= end.at) return end
  return earliest([end, ...stopActions(facts), ...spentStopActions(facts, now), ...endWarnings(facts)])
}

/** When its meters end by what is arranged: of that nothing is charged beyond, however late it is done. */
export function policyMeterEnds(facts: PolicyFacts): { compute: Date; disk: Date } {
  const end = earliest(destroyActions(facts))
  return { compute: earliest([end, ...stopActions(facts).filter(({ kind }) => kind === 'stop')]).at, disk: end.at }
}

function earliest<Action extends { at: Date }>(actions: readonly [Action, ...Action[]]): Action {
  return actions.reduce((first, action) => (action.at < first.at ? action : first))
}

function destroyActions(facts: PolicyFacts): [DueAction, ...DueAction[]] {
  const { endsAt, destroyAt, destroyStoppedMs } = facts
  const since = stoppedSince(facts)
  const wait = Number(destroyStoppedMs)
  return [
    { at: endsAt, kind: 'destroy', reason: rentalEnded },
    ...(destroyAt ? [{ at: destroyAt, kind: 'destroy' as const, reason: destroyScheduled }] : []),
    ...(since && wait > 0
      ? [{ at: new Date(since.getTime() + wait), kind: 'destroy' as const, reason: stoppedTooLong(wait) }]
      : []),
  ]
}

function stopActions(facts: PolicyFacts): DueAction[] {
  const { stopAt, stopAtCostNanos, targetState, status, meters } = facts
  const runs = wantsGpus({ targetState, status, destroyed: false })
  const costsTooMuch = runs && stopAtCostNanos !== null ? calculateCostLimitInstant(meters, stopAtCostNanos) : null
  return [
    ...(stopAt && runs ? [{ at: stopAt, kind: 'stop' as const, code: 'SCHEDULE' as const }] : []),
    ...(stopAt && !runs ? [{ at: stopAt, kind: 'lapse' as const }] : []),
    ...(costsTooMuch ? [{ at: costsTooMuch, kind: 'stop' as const, code: 'COST_LIMIT' as const }] : []),
  ]
}

/** What is to run stops also where its GPUs cost nothing now, since they were charged up to the last one paid for. */
function spentStopActions(facts: PolicyFacts, now: Date): DueAction[] {
  const { targetState, status } = facts
  const runs = wantsGpus({ targetState, status, destroyed: false })
  return runs && isStopCostReached(facts, now) ? [{ at: now, kind: 'stop', code: 'COST_LIMIT' }] : []
}

/** Whether what it is to cost does not pay for another instant of its GPUs. */
function isStopCostReached({ stopAtCostNanos, meters, computeNanos }: PolicyFacts, at: Date): boolean {
  if (stopAtCostNanos === null) return false
  const running = meters.map(meter =>
    meter.kind === 'compute' ? { ...advanceMeterTo(meter, at), rateNanos: computeNanos, end: null } : meter,
  )
  const end = calculateCostLimitInstant(running, stopAtCostNanos)
  return end !== null && end <= at
}

function endWarnings({ createdAt, endsAt, announcedAt }: PolicyFacts): DueAction[] {
  if (announcedAt) return []
  const warnAtMs = endsAt.getTime() - endWarningMs
  return [{ at: warnAtMs < createdAt.getTime() ? createdAt : new Date(warnAtMs), kind: 'announce' }]
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
export function isDestroyDue(facts: PolicyFacts, at: Date): boolean {
  const next = nextAction(facts, at)
  return next?.kind === 'destroy' && next.at <= at
}

export const destroyDueMessage = 'It is about to be destroyed, as was arranged.'

/** Why an instance may not start by what is arranged for it. What it may cost must pay for its first instant. */
export function startRefusal(facts: PolicyFacts, at: Date): string | undefined {
  const { stopAtCostNanos, meters } = facts
  if (isDestroyDue(facts, at)) return destroyDueMessage
  if (stopAtCostNanos === null || !isStopCostReached(facts, at)) return undefined
  const [cost, limit] = [costAt(meters, at), stopAtCostNanos].map(printUsd)
  return `It has cost ${cost} $, and is to be stopped at ${limit} $: raise its stopAtCost, or take it away, to start it.`
}

const rentalEnded: DestroyReason = {
  code: 'RENTAL_ENDED',
  message: 'Its machine left the market at the instant that was told when it was rented.',
}
const destroyScheduled: DestroyReason = {
  code: 'SCHEDULE',
  message: 'It was arranged to be destroyed at this instant.',
}

function stoppedTooLong(ms: number): DestroyReason {
  return { code: 'SCHEDULE', message: `It was arranged to be destroyed when it was stopped for ${ms / 1000} seconds.` }
}
