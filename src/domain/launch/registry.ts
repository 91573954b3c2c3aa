import { textProblem } from '../texts.ts'
import { type FlagNames, parseFlags } from './docker-flags.ts'
import { splitWords } from './shell-words.ts'

/**
 * Credentials for a private image. The password is secret: no message may repeat any part of it. In a request, an empty
 * password keeps the one that the template has for the same host and user.
 */
export type Registry = { host: string; username: string; password: string }

const maxRegistryHost = 256
const maxUsername = 256
/** Some clouds issue whole documents as registry passwords. */
const maxPassword = 4_096

const flagNames: FlagNames<'username' | 'password'> = new Map([
  ['-u', 'username'],
  ['--username', 'username'],
  ['-p', 'password'],
  ['--password', 'password'],
])

/** Parses "-u USER -p PASSWORD HOST", or returns the problem with it. */
export function parseImageLogin(text: string): Registry | string {
  const words = textProblem(text) ?? splitWords(text)
  if (typeof words === 'string') return words
  const { flags, others, problems } = parseFlags(words, flagNames)
  // A word that looks like a flag may be part of a password, so the message must not repeat it.
  if (problems.length > 0)
    return 'must be -u USER -p PASSWORD HOST; a value with blanks or a leading dash needs quotes or "=".'
  if (others.length > 1) return `must name one registry host, not ${others.length}; a value with blanks needs quotes.`
  const last = (name: 'username' | 'password') => flags.findLast(flag => flag.name === name)?.value ?? ''
  const registry = { host: others[0]?.text ?? '', username: last('username'), password: last('password') }
  return registryProblem(registry) ?? registry
}

/** Credentials with only empty parts count as absent. */
export function nonEmptyRegistry(registry: Registry | undefined): Registry | null {
  return registry && Object.values(registry).some(text => text !== '') ? registry : null
}

/** Whether a request names the user and the host of known credentials, and leaves their password as it is. */
export function keepsPassword(requested: Registry | undefined, known: Registry | undefined): boolean {
  if (!requested || !known || requested.password !== '') return false
  return requested.host === known.host && requested.username === known.username
}

export function registryProblem({ host, username, password }: Registry): string | undefined {
  if (!host || !username || !password) return 'must name a user, a password and a registry host.'
  if (/\s/.test(host) || host.startsWith('-')) return 'must name a registry host without blanks.'
  const problems = { host: textProblem(host, maxRegistryHost), username: textProblem(username, maxUsername) }
  if (problems.host) return `has a host that ${problems.host}`
  if (problems.username) return `has a username that ${problems.username}`
  const problem = textProblem(password, maxPassword)
  return problem ? `has a password that ${problem}` : undefined
}
