// How large an answer may be. A field that is asked for under many aliases is made once and written many times, so the
// answer is measured before it is written.

import { type ExecutionResult, GraphQLError } from 'graphql'

/** A page of 25 templates, each with the longest readme, is smaller. */
export const maxAnswerBytes = 5_000_000

/** The answer, or an error in its place where it is too large. `happened`: what mutations did stays done. */
export function limitAnswerSize(result: ExecutionResult, isMutation: boolean): ExecutionResult {
  const errors = result.errors?.map(error => error.toJSON())
  if (subtractJsonBytes(errors, subtractJsonBytes(result.data, maxAnswerBytes)) >= 0) return result
  const done = isMutation ? ' What its mutations did stays done: look before you repeat it.' : ''
  const message = `The answer is larger than ${maxAnswerBytes} bytes.${done} Ask for fewer rows, or for fewer fields of each.`
  return { data: null, errors: [new GraphQLError(message, { extensions: { code: 'ANSWER_TOO_LARGE' } })] }
}

/** Quotes, backslashes, control characters and halves of pairs, which JSON writes in more bytes than the text has. */
const escapedCharacters = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

/** What is left of a number of bytes once the value is written as JSON; below 0 as soon as it does not fit. */
function subtractJsonBytes(value: unknown, bytes: number): number {
  if (typeof value === 'string') return value.length > bytes ? -1 : bytes - jsonBytesOf(value)
  if (typeof value !== 'object' || value === null) return bytes - String(value).length
  let left = bytes - 2
  if (Array.isArray(value)) {
    for (const item of value) {
      left = subtractJsonBytes(item, left - 1)
      if (left < 0) break
    }
    return left
  }
  for (const name in value) {
    left = subtractJsonBytes((value as Record<string, unknown>)[name], left - name.length - 4)
    if (left < 0) break
  }
  return left
}

/** Every value of every answer passes here, so nothing is written that need not be. */
function jsonBytesOf(text: string): number {
  return escapedCharacters.test(text) ? Buffer.byteLength(JSON.stringify(text)) : Buffer.byteLength(text) + 2
}
