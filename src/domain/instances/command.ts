import { DomainError, invalidState, notFound } from '../errors.ts'
import { applyChange, type Change, type Instance } from './instances.ts'
import type { TargetState } from './states.ts'

export const maxIdsPerCommand = 64

/** Counted as sent, before duplicates are removed. */
export function checkIds(ids: readonly bigint[]): void {
  if (ids.length === 0) throw refuse('ids list required', 'must name at least one instance.')
  if (ids.length <= maxIdsPerCommand) return
  const message = `must be at most ${maxIdsPerCommand}, not ${ids.length}.`
  throw refuse(`chunk length of ${ids.length} > ${maxIdsPerCommand}`, message)
}

/** In the words that clients of the bulk update know. */
function refuse(words: string, message: string): DomainError {
  return new DomainError('INVALID_INPUT', words, { issues: [{ path: 'ids', message }] })
}

/** A command to many instances: a change, or their destruction. */
export type Command = { kind: 'change'; change: Change } | { kind: 'destroy' }

export type Subject = Pick<Instance, 'id' | 'label' | 'targetState' | 'status' | 'destroyedAt' | 'stopAt'>

/** Why instances may not start that could otherwise, by their ids. A text is about their state. */
export type StartRefusals = ReadonlyMap<bigint, string | DomainError>

/** What a command does to one instance: what is written to it, or why not. */
export type Step =
  | { id: bigint; outcome: 'applied'; label?: string | null; targetState?: TargetState; destroy?: true }
  | { id: bigint; outcome: 'unchanged' }
  | { id: bigint; outcome: 'failed'; error: DomainError }
  | { id: bigint; outcome: 'skipped' }

/** One step per id, in the order of the ids. When `all` is asked for and one fails, nothing is done to the others. */
export function planCommand(
  ids: readonly bigint[],
  subjects: Subject[],
  command: Command,
  all: boolean,
  refusals: StartRefusals = new Map(),
): Step[] {
  const found = new Map(subjects.map(subject => [subject.id, subject]))
  const steps = ids.map(id => stepFor(id, found.get(id), command, refusals.get(id)))
  if (!all || steps.every(({ outcome }) => outcome !== 'failed')) return steps
  return steps.map(step => (step.outcome === 'failed' ? step : { id: step.id, outcome: 'skipped' }))
}

function stepFor(
  id: bigint,
  subject: Subject | undefined,
  command: Command,
  noStart: string | DomainError | undefined,
): Step {
  if (command.kind === 'destroy') {
    if (!subject) return { id, outcome: 'failed', error: notFound('Instance', id) }
    return subject.destroyedAt ? { id, outcome: 'unchanged' } : { id, outcome: 'applied', destroy: true }
  }
  if (!subject || subject.destroyedAt) return { id, outcome: 'failed', error: notFound('Instance', id) }
  const result = applyChange(subject, command.change)
  if ('refusal' in result) return refused(id, result.refusal)
  if (result.changes.targetState === 'running' && noStart !== undefined) {
    return typeof noStart === 'string' ? refused(id, noStart) : { id, outcome: 'failed', error: noStart }
  }
  return Object.keys(result.changes).length === 0
    ? { id, outcome: 'unchanged' }
    : { id, outcome: 'applied', ...result.changes }
}

function refused(id: bigint, refusal: string): Step {
  return { id, outcome: 'failed', error: invalidState(id, refusal) }
}
