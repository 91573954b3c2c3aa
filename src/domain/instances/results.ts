// Logs and outputs that are kept for minutes and read through a link.

import { invalidInput } from '../errors.ts'
import { textProblem } from '../texts.ts'
import type { LogLine } from './containers.ts'

export const resultLifetimeMs = 10 * 60_000
/** Limits of one account, in results and in total bytes. The oldest results beyond a limit are deleted. */
export const maxResults = 1_000
export const maxResultsBytes = 20_000_000
/** In UTF-16 code units. A longer log keeps its last lines. */
export const maxResultLength = 1_000_000

const maxContainingLength = 512

/** Selects the last `tail` lines of a log and, among them, those that contain a text. */
export type LogQuery = {
  tail: number
  containing?: string | undefined
  /** Only lines that the machine printed about the container. */
  fromMachine?: boolean | undefined
}

export function checkLogQuery({ containing = '' }: LogQuery): void {
  const message = textProblem(containing, maxContainingLength)
  if (message) throw invalidInput([{ path: 'containing', message }])
}

export function printLog(lines: LogLine[], { containing = '', fromMachine }: LogQuery): string {
  const printed = lines
    .filter(({ text, source }) => text.includes(containing) && (!fromMachine || source === 'machine'))
    .map(({ text }) => `${text}\n`)
    .join('')
  if (printed.length <= maxResultLength) return printed
  return printed.slice(printed.indexOf('\n', printed.length - maxResultLength - 1) + 1)
}
