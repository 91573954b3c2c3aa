import { DomainError, type Issue } from '../errors.ts'
import { parseCursor, printCursor } from '../pages.ts'
import { textProblem } from '../texts.ts'
import { type LogLine, type LogRange, maxLogLines, maxReadLength } from './containers.ts'
import type { Instance } from './instances.ts'

export const maxCommandLength = 512
export const maxOutputLength = maxReadLength - 1

const cursorScope = 'log'

export function tailIssues(tail: number, min: number): Issue[] {
  if (tail >= min && tail <= maxLogLines) return []
  return [{ path: 'tail', message: `must be from ${min} to ${maxLogLines}, not ${tail}.` }]
}

export function commandIssues(command: string): Issue[] {
  const message = command.trim() === '' ? 'must be given.' : textProblem(command, maxCommandLength)
  return message ? [{ path: 'command', message }] : []
}

/** A line with a cursor that holds for this instance alone. */
export function withInstanceCursor(id: bigint, line: LogLine): LogLine {
  return { ...line, cursor: printCursor(cursorScope, [String(id), line.cursor]) }
}

/** The place in the log of an instance that a cursor of such a line means. */
export function parseLogCursor(id: bigint, cursor: string): NonNullable<LogRange['after']> {
  const [instance, lineCursor] = parseCursor(cursor, cursorScope)
  if (instance === String(id) && typeof lineCursor === 'string' && /^[\w.:+-]{1,100}$/.test(lineCursor))
    return lineCursor
  throw new DomainError('INVALID_CURSOR', 'This is not a cursor of the log of this instance.')
}

/** Whether more may be printed without anything happening to the instance. */
export function canPrintMore({ status, destroyedAt }: Pick<Instance, 'status' | 'destroyedAt'>): boolean {
  return !destroyedAt && (status === 'loading' || status === 'running' || status === 'stopping')
}

/** Why no command can be run in an instance; undefined where one can. */
export function executeRefusal({ status, destroyedAt }: Pick<Instance, 'status' | 'destroyedAt'>): string | undefined {
  if (destroyedAt) return 'It is destroyed.'
  return status === 'running' ? undefined : `It is ${status}: commands are run while it runs.`
}
