// The maximum number of errors in an answer. A page of instances whose machines are silent has an error for each, and
// each says the same.

import { GraphQLError } from 'graphql'

/** Enough for a page of the default size. */
export const maxErrorsPerCode = 25

/** The errors, at most `maxErrorsPerCode` of each code, and then one that says how many more there are. */
export function limitErrors(errors: readonly GraphQLError[]): readonly GraphQLError[] {
  if (errors.length <= maxErrorsPerCode) return errors
  return [...Map.groupBy(errors, ({ extensions }) => extensions['code']).values()].flatMap(limitErrorsOfCode)
}

/** Shows each message before it shows one of them again. */
function limitErrorsOfCode(errors: GraphQLError[]): GraphQLError[] {
  if (errors.length <= maxErrorsPerCode) return errors
  const shown = [...Map.groupBy(errors, ({ message }) => message).values()]
    .flatMap(equal => equal.map((error, repetition) => ({ error, repetition })))
    .sort((one, other) => one.repetition - other.repetition)
    .slice(0, maxErrorsPerCode)
    .map(({ error }) => error)
  return [...shown, countOthers(errors.length - shown.length, shown[0] as GraphQLError)]
}

function countOthers(count: number, { extensions: { code, retry } }: GraphQLError): GraphQLError {
  const message = `${count} more errors have the code ${code}. Their fields are null, too.`
  return new GraphQLError(message, { extensions: { code, retry } })
}
