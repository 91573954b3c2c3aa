// What is asked of an instance and read by a link: a text that lives for minutes.

import { invalidInput } from '../errors.ts'
import { textProblem } from '../texts.ts'
import type { LogLine } from './containers.ts'

export const resultLifetimeMs = 10 * 60_000
/** So many of an account live at once, with so many bytes in all. Beyond that the oldest go. */
export const maxResults = 1_000
export const maxResultsBytes = 20_000_000
/** In UTF-16 code units. Of a log that is longer the last lines are kept. */
export const maxResultLength = 1_000_000

const maxContainingLength = 512

/** Which lines of a log are wanted: among so many before its end those that have a text in them. */
export type LogQuery = {
  tail: number
  containing?: string | undefined
  /** Only what the machine tells of the container. */
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
