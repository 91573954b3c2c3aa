import { type DomainError, instanceDestroyed, invalidInput, invalidState, notFound } from '../errors.ts'
import { actionError, decideChange, type InstanceChange, judgeAction } from './actions.ts'
import { checkInstanceFilter, type InstanceFilter, isEmptyFilter } from './filter.ts'
import type { Instance } from './instances.ts'
import type { TargetState } from './states.ts'

/** Most instances of one command. */
export const maxInstancesPerCommand = 1_000
/** Most ids of a command over REST, and of the instances that get a new SSH key. */
export const maxIdsPerCommand = 64

/** The instances of a command: named by their ids, or all that match a filter. */
export type InstanceTarget = { ids: readonly bigint[] } | { filter: InstanceFilter }

/** `limit` counts ids as sent, before duplicates are removed. */
export function checkTarget(target: InstanceTarget, limit: number): void {
  if ('ids' in target) checkInstanceIds(target.ids, limit)
  else {
    checkInstanceFilter(target.filter)
    if (isEmptyFilter(target.filter)) throw emptyFilter()
  }
}

function emptyFilter(): DomainError {
  const message = 'has no condition, so every instance would match. Add a condition.'
  return invalidInput([{ path: 'filter', message }])
}

function checkInstanceIds({ length }: readonly bigint[], limit: number): void {
  const message =
    length === 0
      ? 'must name at least one instance.'
      : length > limit
        ? `must have at most ${limit} ids, not ${length}.`
        : undefined
  if (message !== undefined) throw invalidInput([{ path: 'ids', message }])
}

/** A destruction by filter must say how many instances match, so that a condition that matches too many destroys none. */
export function checkExpectation(target: InstanceTarget, expectedCount: number | undefined, dryRun: boolean): void {
  if ('ids' in target || dryRun || expectedCount !== undefined) return
  const message = 'is required to destroy by filter. A dry run says how many instances match.'
  throw invalidInput([{ path: 'expectedCount', message }])
}

/** Refuses a command that matches another number of instances than its caller expects. */
export function checkMatchedCount(matchedCount: number, expectedCount: number | undefined): void {
  if (expectedCount === undefined || expectedCount === matchedCount) return
  const message = `is ${expectedCount}, but the target matches ${matchedCount} instances now. Nothing was changed. Check the matches with a dry run.`
  throw invalidInput([{ path: 'expectedCount', message }])
}

export function tooManyMatches(count: number, limit: number): DomainError {
  const message = `matches ${count} instances; one command changes at most ${limit}. Nothing was changed. Narrow the filter.`
  return invalidInput([{ path: 'filter', message }])
}

export type InstanceCommand = { kind: 'change'; change: InstanceChange } | { kind: 'destroy' }

export type CommandSubject = Pick<Instance, 'id' | 'label' | 'targetState' | 'status' | 'destroyedAt' | 'stopAt'>

/** By id, why an instance may not start although its status allows it. A string is the message of an `INVALID_STATE`. */
export type StartRefusals = ReadonlyMap<bigint, string | DomainError>

/** What a command writes to one instance, or why it writes nothing. */
export type ItemPlan =
  | { id: bigint; outcome: 'applied'; label?: string | null; targetState?: TargetState; destroy?: true }
  | { id: bigint; outcome: 'unchanged' }
  | { id: bigint; outcome: 'failed'; error: DomainError }
  | { id: bigint; outcome: 'skipped' }

/** One plan per id, in the order of the ids. With `isAllOrNothing`, any failure turns every plan
 * that did not fail into a skipped one. */
export function planCommand(
  ids: readonly bigint[],
  subjects: CommandSubject[],
  command: InstanceCommand,
  isAllOrNothing: boolean,
  refusals: StartRefusals = new Map(),
): ItemPlan[] {
  const found = new Map(subjects.map(subject => [subject.id, subject]))
  const plans = ids.map(id => planItem(id, found.get(id), command, refusals.get(id)))
  if (!isAllOrNothing || plans.every(({ outcome }) => outcome !== 'failed')) return plans
  return plans.map(plan => (plan.outcome === 'failed' ? plan : { id: plan.id, outcome: 'skipped' }))
}

function planItem(
  id: bigint,
  subject: CommandSubject | undefined,
  command: InstanceCommand,
  noStart: string | DomainError | undefined,
): ItemPlan {
  if (!subject) return { id, outcome: 'failed', error: notFound('Instance', id) }
  if (command.kind === 'destroy') {
    const { outcome } = judgeAction('destroy', subject)
    return outcome === 'applied' ? { id, outcome, destroy: true } : { id, outcome: 'unchanged' }
  }
  if (subject.destroyedAt) return { id, outcome: 'failed', error: instanceDestroyed(id) }
  const result = decideChange(subject, command.change)
  if ('refusal' in result) return { id, outcome: 'failed', error: actionError(id, result.refusal) }
  if (result.changes.targetState === 'running' && noStart !== undefined) {
    const error = typeof noStart === 'string' ? invalidState(id, noStart) : noStart
    return { id, outcome: 'failed', error }
  }
  return Object.keys(result.changes).length === 0
    ? { id, outcome: 'unchanged' }
    : { id, outcome: 'applied', ...result.changes }
}
