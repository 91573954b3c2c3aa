import { DomainError, type Issue, invalidInput } from '../errors.ts'
import { type EnvVar, envPath, variableProblem } from '../launch/env.ts'
import { countCharacters } from '../texts.ts'
import { quoteValue } from '../values.ts'

/** Shown in place of a secret. A caller that sends it back keeps the stored secret. */
export const secretMask = '********'

export const maxSecretVariables = 16
/** Limit on all names and values together: half of an environment, which leaves room for the variables of a rental. */
export const maxSecretCharacters = 16_384

/** The names to delete without repetitions, or an error if there are none or more than an account can have. */
export function parseDeletedNames(names: readonly string[]): string[] {
  const distinct = [...new Set(names)]
  const message =
    distinct.length === 0
      ? 'must have at least one name.'
      : `must have at most ${maxSecretVariables} names, not ${distinct.length}.`
  if (distinct.length === 0 || distinct.length > maxSecretVariables) throw invalidInput([{ path: 'names', message }])
  return distinct
}

/** The error for names of a request that no variable has. The request changed nothing. */
export function variablesNotFound(names: readonly string[]): DomainError<'NOT_FOUND'> {
  const message = `There is no secret variable named ${names.map(quoteValue).join(', ')}. Nothing was changed.`
  return new DomainError('NOT_FOUND', message, { subject: null, names })
}

export function toSecretEnvVar({ name, value }: { name: string; value: string }): EnvVar {
  return { name, value, secret: true }
}

/** Every issue with the changed variables. `all` are the account's variables after the change. */
export function secretVariableIssues(changed: EnvVar[], all: EnvVar[]): Issue[] {
  const issues = changed.flatMap(variable => {
    const message = variableProblem(variable)
    return message ? [{ path: envPath(variable.name), message }] : []
  })
  const characters = all.reduce((sum, { name, value }) => sum + countCharacters(name) + countCharacters(value), 0)
  if (characters > maxSecretCharacters) {
    const message = `must have at most ${maxSecretCharacters} characters in all of the account's names and values together, not ${characters}.`
    issues.push({ path: 'env', message })
  }
  return issues
}
