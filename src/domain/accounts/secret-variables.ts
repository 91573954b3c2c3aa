import type { Issue } from '../errors.ts'
import { type EnvVar, envPath, variableProblem } from '../launch/env.ts'
import { countCharacters } from '../texts.ts'

/** A variable that every new rental of its account gets. Its value is shown to nobody. */
export type SecretVariable = { name: string; createdAt: Date; updatedAt: Date }

/** What a secret is shown as, to those who send back what they were shown. */
export const secretMask = '********'

export const maxSecretVariables = 16
/** Of all names and values together: half of what an environment has room for, so that there is some left for rentals. */
export const maxSecretCharacters = 16_384

export function toSecretEnvVar({ name, value }: { name: string; value: string }): EnvVar {
  return { name, value, secret: true }
}

/** Everything that is wrong with variables that are to be kept; `all` are those that the account has then. */
export function secretVariableIssues(changed: EnvVar[], all: EnvVar[]): Issue[] {
  const issues = changed.flatMap(variable => {
    const message = variableProblem(variable)
    return message ? [{ path: envPath(variable.name), message }] : []
  })
  const characters = all.reduce((sum, { name, value }) => sum + countCharacters(name) + countCharacters(value), 0)
  if (characters > maxSecretCharacters) {
    const message = `must have at most ${maxSecretCharacters} characters in the names and values of the account, not ${characters}.`
    issues.push({ path: 'env', message })
  }
  return issues
}
