// What is asked of an instance and read by a link: a text that lives for minutes.

import { invalidInput } from '../errors.ts'
import { textProblem } from '../texts.ts'
import type { LogLine } from './containers.ts'

export const resultLivesMs = 10 * 60_000
/** So many of an account live at once, with so many bytes in all. Beyond that the oldest go. */
export const maxResults = 1_000
export const maxResultsBytes = 20_000_000
/** In UTF-16 code units. Of a log that is longer the last lines are kept. */
export const maxResult = 1_000_000

const maxNeedle = 512

/** Which lines of a log are wanted: among so many before its end those that have a text in them. */
export type LogWish = {
  tail: number
  containing?: string | undefined
  /** Only what the machine tells of the container. */
  fromMachine?: boolean | undefined
}

export function checkLogWish({ containing = '' }: LogWish): void {
  const message = textProblem(containing, maxNeedle)
  if (message) throw invalidInput([{ path: 'containing', message }])
}

export function printLog(lines: LogLine[], { containing = '', fromMachine }: LogWish): string {
  const printed = lines
    .filter(({ text, source }) => text.includes(containing) && (!fromMachine || source === 'machine'))
    .map(({ text }) => `${text}\n`)
    .join('')
  if (printed.length <= maxResult) return printed
  return printed.slice(printed.indexOf('\n', printed.length - maxResult - 1) + 1)
}
