// The maximum size of an answer. A value that many aliases select is loaded once but written many times, so the answer is
// measured before it is written.

import type { ExecutionResult } from 'graphql'
import { faceError } from '../errors/face-errors.ts'

/** Larger than a page of 25 templates that all have the longest readme. */
export const maxAnswerBytes = 5_000_000

/** The answer, or an error in its place if it is too large. The error of a mutation says that the mutation has run. */
export function limitAnswerSize(result: ExecutionResult, isMutation: boolean): ExecutionResult {
  const errors = result.errors?.map(error => error.toJSON())
  const fits = (sizeOfText: SizeOfText) =>
    subtractJsonBytes(errors, subtractJsonBytes(result.data, maxAnswerBytes, sizeOfText), sizeOfText) >= 0
  // Nearly all answers are far smaller, so a rough measure comes first.
  if (fits(mostJsonBytesOf) || fits(jsonBytesOf)) return result
  const reminder = isMutation ? ' Its mutations have run: check their effect before you repeat them.' : ''
  const message = `The answer is larger than ${maxAnswerBytes} bytes.${reminder} Select fewer items, or fewer fields of each.`
  return { data: null, errors: [faceError('ANSWER_TOO_LARGE', message)] }
}

type SizeOfText = (text: string) => number

/** `bytes` minus the size of the value as JSON. Negative if the value does not fit; the walk stops there. */
function subtractJsonBytes(value: unknown, bytes: number, sizeOfText: SizeOfText): number {
  if (typeof value === 'string') return value.length > bytes ? -1 : bytes - sizeOfText(value)
  if (typeof value !== 'object' || value === null) return bytes - String(value).length
  let remaining = bytes - 2
  if (Array.isArray(value)) {
    for (const item of value) {
      remaining = subtractJsonBytes(item, remaining - 1, sizeOfText)
      if (remaining < 0) break
    }
    return remaining
  }
  for (const name of Object.keys(value)) {
    remaining = subtractJsonBytes((value as Record<string, unknown>)[name], remaining - name.length - 4, sizeOfText)
    if (remaining < 0) break
  }
  return remaining
}

/** JSON escapes a character with six bytes at most. */
function mostJsonBytesOf(text: string): number {
  return 6 * text.length + 2
}

/** Characters that JSON escapes: quotes, backslashes, control characters and lone surrogates. */
const escapedCharacters = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

function jsonBytesOf(text: string): number {
  return escapedCharacters.test(text) ? Buffer.byteLength(JSON.stringify(text)) : Buffer.byteLength(text) + 2
}
