// REST clients write an environment as an object whose keys are names or flags, or as one string of docker flags. Both
// parse into one shape, with all issues at once. Invalid parts are left out.

import type { Issue } from '../errors.ts'
import { textProblem } from '../texts.ts'
import { type FlagNames, parseFlags, splitFlag, unknownFlagMessage } from './docker-flags.ts'
import {
  dedupeEnvironment,
  type Environment,
  type EnvVar,
  emptyEnvironment,
  envPath,
  hostnameProblem,
  portProblem,
  printPort,
  printVolume,
  variableProblem,
  volumeProblem,
} from './env.ts'
import { printWords, splitWords } from './shell-words.ts'

type ParsedEnvironment = { environment: Environment; issues: Issue[] }
type FlagKind = 'variable' | 'port' | 'hostname' | 'volume'

const flagNames: FlagNames<FlagKind> = new Map([
  ['-e', 'variable'],
  ['--env', 'variable'],
  ['-p', 'port'],
  ['--publish', 'port'],
  ['-h', 'hostname'],
  ['--hostname', 'hostname'],
  ['-v', 'volume'],
  ['--volume', 'volume'],
])

/** Adds the operand of a flag to an environment, or returns the problem with it. */
const addByKind: Record<FlagKind, (operand: string, environment: Environment) => string | undefined> = {
  variable: (operand, { env }) => {
    const [, name, value] = /^([^=]*)=(.*)$/su.exec(operand) ?? []
    if (name === undefined || value === undefined) return 'must be NAME=VALUE.'
    return addVariable({ name, value }, env)
  },
  port: (operand, { ports }) => {
    const [, host, container, protocol] = /^(\d{1,5}):(\d{1,5})(?:\/(tcp|udp))?$/i.exec(operand) ?? []
    if (host === undefined) return 'must be HOST:CONTAINER, HOST:CONTAINER/tcp or HOST:CONTAINER/udp.'
    const kind = protocol?.toLowerCase() === 'udp' ? 'udp' : 'tcp'
    const port = { hostPort: Number(host), containerPort: Number(container), protocol: kind } as const
    const problem = portProblem(port)
    if (!problem) ports.push(port)
    return problem
  },
  hostname: (hostname, environment) => {
    const problem = hostname === '' ? undefined : hostnameProblem(hostname)
    if (!problem) environment.hostname = hostname || environment.hostname
    return problem
  },
  volume: (operand, { volumes }) => {
    const [, id, mountPath = ''] = /^V\.(\d{1,19}):(.*)$/su.exec(operand) ?? []
    if (id === undefined) return 'must be V.ID:/PATH.'
    const volume = { volumeId: BigInt(id), mountPath }
    const problem = volumeProblem(volume)
    if (!problem) volumes.push(volume)
    return problem
  },
}

function addVariable(variable: EnvVar, env: EnvVar[]): string | undefined {
  const problem = variableProblem(variable)
  if (!problem) env.push(variable)
  return problem
}

/** Parses {"NAME": "value", "-p 80:80": "1", "-h": "name"}. Null counts as absent, and so does a flag that is false or "". */
export function parseEnvObject(object: Record<string, unknown>): ParsedEnvironment {
  const environment = emptyEnvironment()
  const issues = Object.entries(object).flatMap(([key, value]) => {
    if (value === null || value === undefined) return []
    const message = key.startsWith('-') ? addFlag(key, value, environment) : addPlainVariable(key, value, environment)
    return message ? [{ path: envPath(key), message }] : []
  })
  return { environment: dedupeEnvironment(environment), issues }
}

function addPlainVariable(name: string, value: unknown, { env }: Environment): string | undefined {
  const text = scalarText(value)
  return text === undefined ? 'must be a string.' : addVariable({ name, value: text }, env)
}

function addFlag(key: string, value: unknown, environment: Environment): string | undefined {
  // In a key, blanks separate a flag from its operand as "=" does. Outer blanks count only in the value of a variable.
  const { spelling, value: operand } = splitFlag(key.replace(/^(--[^=\s]+|-[^-\s])\s+(?=\S)/u, '$1='))
  const kind = flagNames.get(spelling)
  const text = scalarText(value)
  if (kind === undefined) return unknownFlagMessage(flagNames)
  if (value === false || text === '') return undefined
  if (operand !== undefined && text !== '1' && text !== 'true') return 'must have the value "1".'
  const taken = operand ?? text
  if (taken === undefined) return 'must be a string.'
  return addByKind[kind](kind === 'variable' ? taken : taken.trim(), environment)
}

/** Clients also send numbers and booleans. */
function scalarText(value: unknown): string | undefined {
  const plain = ['string', 'boolean', 'bigint'].includes(typeof value) || Number.isFinite(value)
  return plain ? String(value) : undefined
}

/** Parses "-e NAME=value -p 80:80/udp -h name -v V.5:/data", including with the long names of the flags. */
export function parseEnvFlags(text: string): ParsedEnvironment {
  const environment = emptyEnvironment()
  const words = textProblem(text) ?? splitWords(text)
  if (typeof words === 'string') return { environment, issues: [{ path: 'env', message: words }] }
  const { flags, others, problems } = parseFlags(words, flagNames)
  const stray = 'that belongs to no flag; blanks in a value need quotes.'
  const found = [
    ...problems,
    ...others.map(({ at }) => ({ at, message: `has a word at character ${at} ${stray}` })),
    ...flags.flatMap(({ name, spelling, value, at }) => {
      const problem = addByKind[name](value, environment)
      return problem ? [{ at, message: `has ${spelling} at character ${at}, which ${problem}` }] : []
    }),
  ]
  const issues = found.toSorted((a, b) => a.at - b.at).map(({ message }) => ({ path: 'env', message }))
  return { environment: dedupeEnvironment(environment), issues }
}

/** Prints an environment as flags, which `parseEnvFlags` parses. */
export function printEnvFlags({ env, ports, hostname, volumes }: Environment): string {
  return printWords([
    ...env.flatMap(({ name, value }) => ['-e', `${name}=${value}`]),
    ...ports.flatMap(port => ['-p', printPort(port)]),
    ...(hostname === undefined ? [] : ['-h', hostname]),
    ...volumes.flatMap(volume => ['-v', printVolume(volume)]),
  ])
}
