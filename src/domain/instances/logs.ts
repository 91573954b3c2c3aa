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

/** Binds the cursor of a line to its instance. */
export function withInstanceCursor(id: bigint, line: LogLine): LogLine {
  return { ...line, cursor: printCursor(cursorScope, [String(id), line.cursor]) }
}

/** The provider's cursor inside a cursor of `withInstanceCursor`. Throws if it belongs to another instance. */
export function parseLogCursor(id: bigint, cursor: string): NonNullable<LogRange['after']> {
  const [instance, lineCursor] = parseCursor(cursor, cursorScope)
  if (instance === String(id) && typeof lineCursor === 'string' && /^[\w.:+-]{1,100}$/.test(lineCursor))
    return lineCursor
  throw new DomainError('INVALID_CURSOR', 'The cursor does not belong to the log of this instance.')
}

/** Whether the instance can print more lines before its next event. */
export function canPrintMore({ status, destroyedAt }: Pick<Instance, 'status' | 'destroyedAt'>): boolean {
  return !destroyedAt && (status === 'loading' || status === 'running' || status === 'stopping')
}

export function executeRefusal({ status }: Pick<Instance, 'status'>): string | undefined {
  return status === 'running'
    ? undefined
    : `The instance has the status ${status}. Commands run only in a running instance.`
}
