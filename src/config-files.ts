// Secrets that come in files, as containers and systemd hand them over: BERTH_SECRET_FILE names the file with BERTH_SECRET.

import { readFileSync } from 'node:fs'

type Environment = Record<string, string | undefined>

/** The environment with the secrets that `NAME_FILE` names, and what is wrong with those. */
export function readSecretFiles(env: Environment, names: readonly string[]): { env: Environment; problems: string[] } {
  const found: Environment = {}
  const problems: string[] = []
  for (const name of names) {
    const setting = `${name}_FILE`
    const file = env[setting]
    if (!file) continue
    const text = readText(file)
    if (env[name]) problems.push(`${name} and ${setting} exclude each other. Set one of them.`)
    else if (text instanceof Error) problems.push(`${setting} names a file that cannot be read: ${text.message}.`)
    else if (text === '') problems.push(`${setting} names an empty file: ${file}.`)
    else found[name] = text
  }
  return { env: { ...env, ...found }, problems }
}

/** Editors and `echo` end a file with a new line, which is no part of a secret. */
function readText(file: string): string | Error {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    return error as Error
  }
}
