// The actions that come due for an instance, by its policy and at the end of its rental. Each instant is known in advance,
// except that of a stop for idleness.

import { advanceMeterTo, type CostMeter, calculateCostLimitInstant, costAt } from '../../billing/costs.ts'
import { printUsd } from '../../money.ts'
import type { Reason } from '../../reasons.ts'
import { type Instance, type TargetReason, wantsGpus } from '../instances.ts'
import { isFinal } from '../states.ts'

/** A stop at an instant, at a cost or when idle, and a destruction at an instant or after a time stopped. */
export type Policy = Pick<
  Instance,
  'stopAt' | 'stopAtCostNanos' | 'destroyAt' | 'destroyStoppedMs' | 'idleGpuPercent' | 'idleSeconds'
>

export const noPolicy: Policy = {
  stopAt: null,
  stopAtCostNanos: null,
  destroyAt: null,
  destroyStoppedMs: null,
  idleGpuPercent: null,
  idleSeconds: null,
}

export type PolicyFacts = Policy &
  Pick<Instance, 'createdAt' | 'endsAt' | 'destroyedAt' | 'targetState' | 'status' | 'statusChangedAt'> &
  Pick<Instance, 'startedAt' | 'replaceSeconds'> & {
    /** Whether it could not start, and not because of the renter. Known of instances that can be replaced. */
    startFailed: boolean
    /** When the renter was warned that the rental ends. */
    announcedAt: Date | null
    /** When the target state was last set or, while the target state is running, the bid. */
    claimedAt: Date
    gpuPriceNanos: bigint
    /** For how long its GPUs have been idle in every sample until now; null if they are not known to be idle now. */
    idledSeconds: number | null
    /** Empty before the instance is rented. */
    meters: CostMeter[]
  }

/**
 * An action and when it is due. `announce` warns that the rental will end. `lapse` clears a `stopAt` that comes while the
 * instance is already stopped. `replace` rents another instance in its place.
 */
type PolicyAction = { at: Date } & (
  | { kind: 'announce' | 'lapse' | 'replace' }
  | { kind: 'stop'; code: 'SCHEDULE' | 'COST_LIMIT' | 'IDLE' }
  | { kind: 'destroy'; reason: DestroyReason }
)

type DestroyReason = Reason & { code: TargetReason }

/** The renter is warned this long before the rental ends. If the whole rental is shorter, the renter is warned at once. */
const endWarningMs = 24 * 3_600_000

/**
 * The next action of an instance; null for none. Performing an action changes a fact that made it due, so no action is
 * performed twice. Once the end is past, earlier actions are skipped.
 */
export function nextPolicyAction(facts: PolicyFacts, now: Date): PolicyAction | null {
  if (facts.destroyedAt) return null
  const end = earliest(destroyActions(facts))
  if (now >= end.at) return end
  return earliest([
    end,
    ...stopActions(facts),
    ...spentStopActions(facts, now),
    ...idleStopActions(facts, now),
    ...replaceActions(facts),
    ...endWarnings(facts),
  ])
}

/** When the meters end by policy. Nothing is charged after that, however late the action is performed. */
export function policyMeterEnds(facts: PolicyFacts): { gpu: Date; disk: Date } {
  const end = earliest(destroyActions(facts))
  return { gpu: earliest([end, ...stopActions(facts).filter(({ kind }) => kind === 'stop')]).at, disk: end.at }
}

function earliest<Action extends { at: Date }>(actions: readonly [Action, ...Action[]]): Action {
  return actions.reduce((first, action) => (action.at < first.at ? action : first))
}

function destroyActions(facts: PolicyFacts): [PolicyAction, ...PolicyAction[]] {
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

function stopActions(facts: PolicyFacts): PolicyAction[] {
  const { stopAt, stopAtCostNanos, targetState, status, meters } = facts
  const runs = wantsGpus({ targetState, status, destroyed: false })
  const costsTooMuch = runs && stopAtCostNanos !== null ? calculateCostLimitInstant(meters, stopAtCostNanos) : null
  return [
    ...(stopAt && runs ? [{ at: stopAt, kind: 'stop' as const, code: 'SCHEDULE' as const }] : []),
    ...(stopAt && !runs ? [{ at: stopAt, kind: 'lapse' as const }] : []),
    ...(costsTooMuch ? [{ at: costsTooMuch, kind: 'stop' as const, code: 'COST_LIMIT' as const }] : []),
  ]
}

/**
 * Once `stopAtCost` is spent, stops an instance that should run, even if its GPUs cost nothing now. Their meter may
 * already have ended at the last instant that the limit pays for.
 */
function spentStopActions(facts: PolicyFacts, now: Date): PolicyAction[] {
  const { targetState, status } = facts
  const runs = wantsGpus({ targetState, status, destroyed: false })
  return runs && isStopCostReached(facts, now) ? [{ at: now, kind: 'stop', code: 'COST_LIMIT' }] : []
}

/** The instant of an idle stop is not known in advance: the GPUs may be busy in the next sample. */
function idleStopActions({ targetState, status, idleSeconds, idledSeconds }: PolicyFacts, now: Date): PolicyAction[] {
  const runs = wantsGpus({ targetState, status, destroyed: false })
  const isIdle = idleSeconds !== null && idledSeconds !== null && idledSeconds >= idleSeconds
  return runs && isIdle ? [{ at: now, kind: 'stop', code: 'IDLE' }] : []
}

/** Before its first run, an instance is replaced that cannot start, or takes too long. A stop of the renter ends the time. */
function replaceActions(facts: PolicyFacts): PolicyAction[] {
  const { replaceSeconds, startedAt, targetState, status, statusChangedAt, claimedAt, startFailed } = facts
  if (replaceSeconds === null || startedAt || targetState === 'stopped') return []
  if (!isFinal(status)) return [{ at: new Date(claimedAt.getTime() + replaceSeconds * 1_000), kind: 'replace' }]
  return startFailed ? [{ at: statusChangedAt, kind: 'replace' }] : []
}

/** Whether `stopAtCost` does not pay for another instant of the GPUs. */
function isStopCostReached({ stopAtCostNanos, meters, gpuPriceNanos }: PolicyFacts, at: Date): boolean {
  if (stopAtCostNanos === null) return false
  const running = meters.map(meter =>
    meter.kind === 'gpu' ? { ...advanceMeterTo(meter, at), rateNanos: gpuPriceNanos, end: null } : meter,
  )
  const end = calculateCostLimitInstant(running, stopAtCostNanos)
  return end !== null && end <= at
}

function endWarnings({ createdAt, endsAt, announcedAt }: PolicyFacts): PolicyAction[] {
  if (announcedAt) return []
  const warnAtMs = endsAt.getTime() - endWarningMs
  return [{ at: warnAtMs < createdAt.getTime() ? createdAt : new Date(warnAtMs), kind: 'announce' }]
}

/** When the instance last came to rest: created, stopped, or ended. Null while it runs, changes its state, or should run. */
export function stoppedSince({
  status,
  targetState,
  statusChangedAt,
  claimedAt,
}: Pick<PolicyFacts, 'status' | 'targetState' | 'statusChangedAt' | 'claimedAt'>): Date | null {
  if (isFinal(status)) return statusChangedAt
  if (targetState === 'running' || (status !== 'stopped' && status !== 'created')) return null
  // A start and a stop between two passes leave the status unchanged, but the stopped time starts over.
  return claimedAt > statusChangedAt ? claimedAt : statusChangedAt
}

/** Whether the instance should already be destroyed. No change can prevent that anymore. */
export function isDestroyDue(facts: PolicyFacts, at: Date): boolean {
  const next = nextPolicyAction(facts, at)
  return next?.kind === 'destroy' && next.at <= at
}

export const destroyDueMessage =
  'The instance is about to be destroyed, because its policy or the end of its rental is due.'

/** Why the policy of an instance forbids a start. `stopAtCost` must pay for the first instant. */
export function startRefusal(facts: PolicyFacts, at: Date): string | undefined {
  const { stopAtCostNanos, meters } = facts
  if (isDestroyDue(facts, at)) return destroyDueMessage
  if (stopAtCostNanos === null || !isStopCostReached(facts, at)) return undefined
  const [cost, limit] = [costAt(meters, at), stopAtCostNanos].map(printUsd)
  return `The instance has cost $${cost}, and its policy stops it at a cost of $${limit}. Raise or remove that limit to start it.`
}

const rentalEnded: DestroyReason = {
  code: 'RENTAL_ENDED',
  message: 'The rental ended: the machine left the market at the time shown when the instance was rented.',
}
const destroyScheduled: DestroyReason = {
  code: 'SCHEDULE',
  message: 'The instance was destroyed at the time set in its policy.',
}

function stoppedTooLong(ms: number): DestroyReason {
  return {
    code: 'SCHEDULE',
    message: `The instance was destroyed because its policy allows it to be stopped for at most ${ms / 1000} seconds.`,
  }
}
