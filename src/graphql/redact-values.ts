// GraphQL's errors repeat the sent values, and a misplaced value may be a password. The place, the problem and the kind of the
// value are enough to find the mistake.

import type { GraphQLError } from 'graphql'

/** The message of an error without the values that were sent. Names of fields, variables and types stay. */
export function redactMessage({ message, originalError }: Pick<GraphQLError, 'message' | 'originalError'>): string {
  const [, variable] = /^Variable "(\$\w+)" got invalid value /.exec(message) ?? []
  if (variable === undefined) return redactEcho(message)
  const reason = originalError?.message ?? 'The value has the wrong type.'
  // Quotes inside a value are escaped, so a value cannot end like a path.
  const [place = ''] = / at "[\w.[\]]+"$/.exec(message.slice(0, -`; ${reason}`.length)) ?? []
  return `Variable "${variable}" got invalid value${place}; ${redactEcho(reason)}`
}

/** The parts of a message before and after the value. */
const echoPatterns = [
  /^(Enum "\w+" cannot represent non-\w+ value): .*()$/s,
  /^(Value) ".*"( does not exist in "\w+" enum\.)/s,
  /^(Expected value of type "[^"]+"), found .*()$/s,
  /^(Argument "\w+" has invalid value) .*()$/s,
  /^(Syntax Error: .*?(?:String|Int|Float)) ".*()$/s,
]

function redactEcho(message: string): string {
  const [, type, problem, echo = ''] = scalarError.exec(message) ?? []
  // A number in place of a string may be a password. One in place of another number is none.
  if (type !== undefined) return `${type}${problem}: ${type !== 'String' && isFigure(echo) ? echo : kindOf(echo)}.`
  for (const echo of echoPatterns) {
    const [, before, after] = echo.exec(message) ?? []
    if (before !== undefined) return `${before}${after || '.'}`
  }
  return message
}

const scalarError = /^(String|Int|Float|Boolean|ID)( cannot represent .*?value): (.*)$/s

function isFigure(echo: string): boolean {
  return /^(-?\d{1,12}(\.\d{1,12})?|true|false)$/.test(echo)
}

function kindOf(echo: string): string {
  if (isFigure(echo)) return /\d/.test(echo) ? 'a number' : 'a boolean'
  const kinds: Record<string, string> = { '"': 'a string', '[': 'a list', '{': 'an object' }
  return kinds[echo[0] ?? ''] ?? 'another value'
}
