// How large an answer may be. A field that is asked for under many aliases is made once and written many times, so the
// answer is measured before it is written.

import { type ExecutionResult, GraphQLError } from 'graphql'

/** A page of 25 templates, each with the longest readme, is smaller. */
export const maxAnswerBytes = 5_000_000

/** The answer, or an error in its place where it is too large. `happened`: what a mutation did stays done. */
export function withinSize(result: ExecutionResult, happened: boolean): ExecutionResult {
  if (bytesLeft(result.data, maxAnswerBytes) >= 0) return result
  const done = happened ? ' The mutations were carried out.' : ''
  const message = `The answer is larger than ${maxAnswerBytes} bytes.${done} Ask for fewer rows, or for fewer fields of each.`
  return { data: null, errors: [new GraphQLError(message, { extensions: { code: 'ANSWER_TOO_LARGE' } })] }
}

/** What is left of a number of bytes once the value is written as JSON; below 0 as soon as it does not fit. */
function bytesLeft(value: unknown, bytes: number): number {
  if (typeof value === 'string' && value.length > bytes) return -1
  if (typeof value !== 'object' || value === null) return bytes - Buffer.byteLength(JSON.stringify(value) ?? 'null')
  let left = bytes
  const entries = Array.isArray(value) ? value.map(item => ['', item] as const) : Object.entries(value)
  for (const [name, item] of entries) {
    left = bytesLeft(item, left - name.length - 4)
    if (left < 0) break
  }
  return left
}
