import { DomainError, type Issue } from '../errors.ts'
import { parseCursor, printCursor } from '../pages.ts'
import { textProblem } from '../texts.ts'
import { type LogLine, type LogRange, maxLogLines, maxRead } from './containers.ts'
import type { Instance } from './instances.ts'

export const maxCommand = 512
export const maxOutput = maxRead - 1

const scope = 'log'

export function tailIssues(tail: number, least: number): Issue[] {
  if (tail >= least && tail <= maxLogLines) return []
  return [{ path: 'tail', message: `must be from ${least} to ${maxLogLines}, not ${tail}.` }]
}

export function commandIssues(command: string): Issue[] {
  const message = command.trim() === '' ? 'must be given.' : textProblem(command, maxCommand)
  return message ? [{ path: 'command', message }] : []
}

/** A line with a cursor that holds for this instance alone. */
export function addressed(id: bigint, line: LogLine): LogLine {
  return { ...line, cursor: printCursor(scope, [String(id), line.cursor]) }
}

/** The place in the log of an instance that a cursor of such a line means. */
export function placeIn(id: bigint, cursor: string): NonNullable<LogRange['after']> {
  const [of, place] = parseCursor(cursor, scope)
  if (of === String(id) && typeof place === 'string' && /^[\w.:+-]{1,100}$/.test(place)) return place
  throw new DomainError('INVALID_CURSOR', 'This is not a cursor of the log of this instance.')
}

/** Whether more may be printed without anything happening to the instance. */
export function isTalking({ status, destroyedAt }: Pick<Instance, 'status' | 'destroyedAt'>): boolean {
  return !destroyedAt && (status === 'loading' || status === 'running' || status === 'stopping')
}

/** Why no command can be run in an instance; undefined where one can. */
export function whyNoCommand({ status, destroyedAt }: Pick<Instance, 'status' | 'destroyedAt'>): string | undefined {
  if (destroyedAt) return 'It is destroyed.'
  return status === 'running' ? undefined : `It is ${status}: commands are run while it runs.`
}
