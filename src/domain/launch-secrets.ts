// Values of secret variables are kept apart from everything that is shown, and are joined to it when a container is made.

import type { EnvVar } from './launch-env.ts'

/** The variables without what is secret of them: their names stay. */
export function withoutSecrets(env: EnvVar[]): EnvVar[] {
  return env.map(variable => (variable.secret ? { ...variable, value: '' } : variable))
}

/** The secret values by name; undefined where there are none. */
export function secretsIn(env: EnvVar[]): [name: string, value: string][] | undefined {
  const secrets = env.flatMap(({ name, value, secret }): [string, string][] => (secret ? [[name, value]] : []))
  return secrets.length > 0 ? secrets : undefined
}

/** What `withoutSecrets` made of these variables, with their values again. */
export function withSecrets(env: EnvVar[], secrets: [name: string, value: string][]): EnvVar[] {
  const values = new Map(secrets)
  return env.map(variable => (variable.secret ? { ...variable, value: values.get(variable.name) ?? '' } : variable))
}
