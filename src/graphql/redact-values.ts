// What GraphQL says of values repeats them, and one in a wrong place may be a password. Where it is and what is wrong
// with it is enough to find it.

import type { GraphQLError } from 'graphql'

/** What an error says, without the values that were sent. Names of fields, variables and types stay. */
export function redactMessage({ message, originalError }: Pick<GraphQLError, 'message' | 'originalError'>): string {
  const [, variable] = /^Variable "(\$\w+)" got invalid value /.exec(message) ?? []
  if (variable === undefined) return redactEcho(message)
  const reason = originalError?.message ?? 'It is not of its type.'
  // Quotes within a value are escaped, so that none ends as a path does.
  const [place = ''] = / at "[\w.[\]]+"$/.exec(message.slice(0, -`; ${reason}`.length)) ?? []
  return `Variable "${variable}" got invalid value${place}; ${redactEcho(reason)}`
}

/** What stands before a value and after it. */
const echoPatterns = [
  /^((?:String|Int|Float|Boolean|ID) cannot represent .*?value): .*()$/s,
  /^(Enum "\w+" cannot represent non-\w+ value): .*()$/s,
  /^(Value) ".*"( does not exist in "\w+" enum\.(?: Did you mean [\w", ]+\?)?)$/s,
  /^(Expected value of type "[^"]+"), found .*()$/s,
  /^(Argument "\w+" has invalid value) .*()$/s,
  /^(Syntax Error: .*?(?:String|Int|Float)) ".*()$/s,
]

function redactEcho(message: string): string {
  for (const echo of echoPatterns) {
    const [, before, after] = echo.exec(message) ?? []
    if (before !== undefined) return `${before}${after || '.'}`
  }
  return message
}
