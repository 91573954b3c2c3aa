import type { Issue } from '../errors.ts'
import { countCharacters, hasControlCharacters, textProblem } from '../texts.ts'

/**
 * A secret value is stored separately, encrypted, and never shown. In a request, an empty secret keeps the value that the
 * template or the account has for its name.
 */
export type EnvVar = { name: string; value: string; secret?: true | undefined }
/** The host port is a preference: the machine gives one from its range of public ports. */
export type Port = { hostPort: number; containerPort: number; protocol: 'tcp' | 'udp' }
export type VolumeMount = { volumeId: bigint; mountPath: string }
/** A volume to make with the rental, on its machine. */
export type NewVolumeMount = {
  name: string | undefined
  sizeGb: number
  mountPath: string
  /** The volume offer that REST clients name. It must belong to the machine of the rented offer. */
  volumeOfferId?: bigint | undefined
}

/** The requested environment of a container. */
export type Environment = { env: EnvVar[]; ports: Port[]; hostname: string | undefined; volumes: VolumeMount[] }

const maxVariableNameLength = 256
/** Characters of all names and values together. */
const maxEnvCharacters = 32_768
/** The longest path that Linux accepts. */
export const maxPathLength = 4_096
const maxHostnameLength = 63
const maxVolumeId = 2n ** 63n - 1n

export function emptyEnvironment(): Environment {
  return { env: [], ports: [], hostname: undefined, volumes: [] }
}

/** The last value of a variable counts. A port or a volume that is given twice counts once. */
export function dedupeEnvironment({ env, ports, hostname, volumes }: Environment): Environment {
  return {
    env: [...new Map(env.map(variable => [variable.name, variable])).values()],
    ports: [...new Map(ports.map(port => [printPort(port), port])).values()],
    hostname: hostname || undefined,
    volumes: [...new Map(volumes.map(volume => [printVolume(volume), volume])).values()],
  }
}

export function printPort({ hostPort, containerPort, protocol }: Port): string {
  return `${hostPort}:${containerPort}${protocol === 'tcp' ? '' : `/${protocol}`}`
}

export function printVolume({ volumeId, mountPath }: VolumeMount): string {
  return `V.${volumeId}:${mountPath}`
}

/** All issues of an environment, whichever face parsed it. */
export function checkEnvironment({ env, ports, hostname, volumes }: Environment): Issue[] {
  const issues = [
    ...env.flatMap(variable => issuesAt(envPath(variable.name), variableProblem(variable))),
    ...ports.flatMap((port, index) => issuesAt(`ports.${index}`, portProblem(port))),
    ...issuesAt('hostname', hostname && hostnameProblem(hostname)),
    ...volumes.flatMap((volume, index) => issuesAt(`volumes.${index}`, volumeProblem(volume))),
  ]
  const characters = env.reduce((sum, { name, value }) => sum + countCharacters(name) + countCharacters(value), 0)
  if (characters > maxEnvCharacters) {
    const message = `must have at most ${maxEnvCharacters} characters in all names and values, not ${characters}.`
    issues.push({ path: 'env', message })
  }
  return issues
}

export function issuesAt(path: string, message: string | undefined): Issue[] {
  return message ? [{ path, message }] : []
}

/** The path of a variable in an issue. It leaves out values, because they may be secret. */
export function envPath(key: string): string {
  const name = key.replace(/=.*/su, '')
  return `env.${name.length > 60 ? `${name.slice(0, 60)}…` : name}`.toWellFormed()
}

export function variableProblem({ name, value, secret }: EnvVar): string | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return 'must have a name of letters, digits and _ that does not start with a digit.'
  }
  if (name.length > maxVariableNameLength) {
    return `must have a name of at most ${maxVariableNameLength} characters, not ${name.length}.`
  }
  // A shown secret is empty. Saving it unchanged would otherwise erase the value.
  if (secret && value === '') return 'must have a value, because it is secret.'
  return textProblem(value)
}

export function portProblem({ hostPort, containerPort }: Port): string | undefined {
  const isInvalid = portNumberProblem(hostPort) ?? portNumberProblem(containerPort)
  return isInvalid ? 'must have ports from 1 to 65535.' : undefined
}

export function portNumberProblem(port: number): string | undefined {
  return Number.isInteger(port) && port >= 1 && port <= 65_535 ? undefined : 'must be from 1 to 65535.'
}

export function hostnameProblem(hostname: string): string | undefined {
  if (hostname.length > maxHostnameLength)
    return `must be a name of at most ${maxHostnameLength} characters, not ${hostname.length}.`
  return /^[a-z0-9][a-z0-9._-]*$/i.test(hostname)
    ? undefined
    : 'must be a name of letters, digits, -, _ and . that starts with a letter or a digit.'
}

export function volumeProblem({ volumeId, mountPath }: VolumeMount): string | undefined {
  return volumeIdProblem(volumeId) ?? mountPathProblem(mountPath)
}

export function volumeIdProblem(volumeId: bigint): string | undefined {
  return volumeId < 1n || volumeId > maxVolumeId ? 'must name a volume by its id.' : undefined
}

export function mountPathProblem(mountPath: string): string | undefined {
  // A colon would start an option such as :ro, and options are not supported. A mount over the root is impossible.
  if (!/^\/[^:]*$/.test(mountPath)) return 'must be mounted on an absolute path without a colon.'
  const segments = mountPath.split('/').filter(segment => segment !== '')
  if (segments.length === 0 || segments.includes('.') || segments.includes('..')) {
    return 'must be mounted below the root, on a path without . and .. in it.'
  }
  // The kernel's file systems, and what a real machine adds to a container.
  if (['proc', 'sys', 'dev', '.berth'].includes(segments[0] ?? ''))
    return 'must not be mounted at or below /proc, /sys, /dev or /.berth.'
  const problem = textProblem(mountPath, maxPathLength)
  return (
    problem ?? (hasControlCharacters(mountPath) ? 'must be mounted on a path without control characters.' : undefined)
  )
}

/** Separates the values of secret variables, by name, from variables that may be stored in plain text. */
export function splitSecrets(env: EnvVar[]): { env: EnvVar[]; secrets: Record<string, string> | null } {
  const secrets = env.filter(({ secret }) => secret).map(({ name, value }) => [name, value])
  return {
    env: env.map(variable => (variable.secret ? { ...variable, value: '' } : variable)),
    secrets: secrets.length === 0 ? null : Object.fromEntries(secrets),
  }
}

/**
 * The variables of a request without the secrets that it gives no value. Those keep the values of the known secrets. A
 * secret that is not known stays, and is refused for having no value.
 */
export function omitKeptSecrets(requested: EnvVar[], known: EnvVar[]): EnvVar[] {
  const byName = new Map(known.map(variable => [variable.name, variable]))
  return requested.filter(variable => !(isKeptSecret(variable) && byName.get(variable.name)?.secret))
}

/** The variables of a request, in which a secret without a value has the value of the known secret with its name. */
export function fillKeptSecrets(requested: EnvVar[], known: EnvVar[]): EnvVar[] {
  const byName = new Map(known.map(variable => [variable.name, variable]))
  return requested.map(variable => {
    const stored = byName.get(variable.name)
    return isKeptSecret(variable) && stored?.secret ? stored : variable
  })
}

/** A secret cannot be empty, so an empty value means the value that is stored. */
function isKeptSecret({ value, secret }: EnvVar): boolean {
  return secret === true && value === ''
}

export function restoreSecrets(env: EnvVar[], secrets: Record<string, string>): EnvVar[] {
  const kept = (name: string) => (Object.hasOwn(secrets, name) ? secrets[name] : undefined) ?? ''
  return env.map(variable => (variable.secret ? { ...variable, value: kept(variable.name) } : variable))
}
