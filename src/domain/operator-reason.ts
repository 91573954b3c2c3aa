// What an operator writes about a stopped or destroyed instance, and what its renter reads.

import { invalidInput } from './errors.ts'
import { blankProblem, hasControlCharacters, textProblem } from './texts.ts'

export const maxOperatorReason = 256

/** Refuses a text that cannot be shown as a line. */
export function checkOperatorReason(reason: string): void {
  const message =
    blankProblem(reason) ??
    textProblem(reason, maxOperatorReason) ??
    (hasControlCharacters(reason) ? 'must be one line, without control characters.' : undefined)
  if (message !== undefined) throw invalidInput([{ path: 'reason', message }])
}

export function operatorMessage(change: 'stopped' | 'destroyed', reason: string): string {
  return `An operator of the service ${change} the instance: ${reason}`
}
