import type { Issue } from '../errors.ts'
import type { TargetState } from '../instances/states.ts'
import type { Message } from '../messages.ts'
import { defaultDiskMb, diskMbOf, maxDiskGb } from '../offers/offers.ts'
import { countCharacters, textProblem } from '../texts.ts'
import { mountIssues } from '../volumes/mount.ts'
import {
  checkEnvironment,
  dedupeEnvironment,
  type Environment,
  type EnvVar,
  emptyEnvironment,
  maxPathLength,
  type NewVolumeMount,
  type Port,
  type VolumeMount,
} from './env.ts'
import { nonEmptyRegistry, type Registry, registryProblem } from './registry.ts'

export const launchModes = ['sshDirect', 'sshProxy', 'jupyterDirect', 'jupyterProxy', 'args'] as const
export type LaunchMode = (typeof launchModes)[number]

/** A renter's request as a face parsed it. Nothing has been checked, and undefined means absent. */
export type LaunchInput = {
  image?: string | undefined
  mode?: LaunchMode | undefined
  /** Whether the mode replaces that of a template with all its settings: absent ones are then not taken from there. */
  modeIsWhole?: boolean | undefined
  lab?: boolean | undefined
  directory?: string | undefined
  args?: string[] | undefined
  environment?: Environment | undefined
  newVolumes?: NewVolumeMount[] | undefined
  onStart?: string | undefined
  pythonUtf8?: boolean | undefined
  langUtf8?: boolean | undefined
  registry?: Registry | undefined
  diskGb?: number | undefined
  label?: string | undefined
  targetState?: TargetState | undefined
  vm?: boolean | undefined
  /** The problems with the parts that the face could not parse. The other fields leave these parts out. */
  parseIssues?: Issue[] | undefined
}

export type LaunchSource = 'account' | 'template' | 'request' | 'default'

/** The source of each setting, by its path: "image", "mode", "env.NAME", "ports.80:80". An absent path is a default. */
export type LaunchSources = Record<string, Exclude<LaunchSource, 'default'>>

/** Complete, checked settings of a container. */
export type Launch = {
  image: string
  mode: LaunchMode
  lab: boolean
  directory: string | null
  args: string[]
  env: EnvVar[]
  ports: Port[]
  hostname: string | null
  onStart: string | null
  registry: Registry | null
  diskMb: number
  label: string | null
  targetState: TargetState
  vm: boolean
  volumes: VolumeMount[]
  newVolumes: NewVolumeMount[]
  sources: LaunchSources
}

type LaunchSettings = Omit<Launch, 'sources'>

const maxImage = 1_024
const maxOnStart = 4_048
const maxLabel = 256
const maxArgsCharacters = 32_768
export const maxPorts = 64
const minDiskGb = defaultDiskMb / 1_000

/** Checks an input and fills in the defaults, or returns all its issues. */
export function checkLaunch(
  input: LaunchInput,
): { launch: LaunchSettings; issues: [] } | { launch: undefined; issues: Issue[] } {
  const { image = '', mode = 'sshProxy', lab = false, directory = '', args = [], onStart = '', label = '' } = input
  const { diskGb = minDiskGb, targetState = 'running', vm = false, newVolumes = [], parseIssues = [] } = input
  const {
    env,
    ports: requestedPorts,
    hostname = null,
    volumes,
  } = dedupeEnvironment(input.environment ?? emptyEnvironment())
  const ports = [...missingModePorts(mode, requestedPorts), ...requestedPorts]
  const registry = nonEmptyRegistry(input.registry)

  const problems: Record<string, Message | undefined> = {
    image: imageProblem(image),
    lab: lab && !isNotebookMode(mode) ? 'can be given in notebook modes only.' : undefined,
    directory:
      directory && !isNotebookMode(mode)
        ? 'can be given in notebook modes only.'
        : textProblem(directory, maxPathLength),
    args: argsProblem(args, mode),
    onStart: textProblem(onStart, maxOnStart),
    registry: registry ? registryProblem(registry) : undefined,
    diskGb: diskProblem(diskGb),
    label: checkLabel(label)?.message,
  }
  const issues = [...parseIssues]
  issues.push(...Object.entries(problems).flatMap(([path, message]) => (message ? [{ path, message }] : [])))
  issues.push(...checkEnvironment({ env, ports: requestedPorts, hostname: hostname ?? undefined, volumes }))
  issues.push(...mountIssues({ volumes, newVolumes }))
  if (ports.length > maxPorts) {
    const message = `must have at most ${maxPorts} ports, including those of the mode, not ${ports.length}.`
    issues.push({ path: 'ports', message })
  }
  const diskMb = diskMbOf(diskGb)
  if (issues.length > 0 || diskMb === undefined) return { launch: undefined, issues }

  const container = {
    image,
    mode,
    lab,
    directory: directory || null,
    args,
    env: withLocaleVariables(env, input),
    ports,
    hostname,
  }
  const rest = { onStart: onStart || null, registry, diskMb, label: label || null, targetState, vm }
  const launch = { ...container, ...rest, volumes, newVolumes }
  return { launch, issues: [] }
}

/** Container ports that a mode needs. A proxy mode needs none. */
export function modePortNumbers(mode: LaunchMode): number[] {
  return { sshDirect: [22], jupyterDirect: [8080, 22], sshProxy: [], jupyterProxy: [], args: [] }[mode]
}

/** The ports that a mode adds. A port that is also requested is not added, and keeps its requested host port. */
export function missingModePorts(mode: LaunchMode, requested: Port[]): Port[] {
  const isRequested = (port: number) =>
    requested.some(({ containerPort, protocol }) => containerPort === port && protocol === 'tcp')
  const added = modePortNumbers(mode).filter(port => !isRequested(port))
  return added.map(port => ({ hostPort: port, containerPort: port, protocol: 'tcp' as const }))
}

/** The variables that each locale flag sets, unless the environment sets them. */
export const localeVariables = {
  pythonUtf8: [{ name: 'PYTHONUTF8', value: '1' }],
  langUtf8: [
    { name: 'LANG', value: 'C.UTF-8' },
    { name: 'LC_ALL', value: 'C.UTF-8' },
  ],
} as const satisfies Partial<Record<keyof LaunchInput, EnvVar[]>>

function withLocaleVariables(env: EnvVar[], { pythonUtf8, langUtf8 }: LaunchInput): EnvVar[] {
  const locale = [...(pythonUtf8 ? localeVariables.pythonUtf8 : []), ...(langUtf8 ? localeVariables.langUtf8 : [])]
  return [...env, ...locale.filter(({ name }) => !env.some(variable => variable.name === name))]
}

/** Warns of a launch that is possible but probably a mistake. */
export function launchWarningsOf({ mode, onStart }: Pick<Launch, 'mode' | 'onStart'>): string[] {
  return mode === 'args' && onStart !== null
    ? ['onStart is saved but not run: in args mode only the entrypoint of the image runs.']
    : []
}

function isNotebookMode(mode: LaunchMode): boolean {
  return mode === 'jupyterDirect' || mode === 'jupyterProxy'
}

function imageProblem(image: string): string | undefined {
  if (image === '') return 'must be given, unless a template has one.'
  // An image is an argument of other programs, which must not read it as an option.
  if (/\s/.test(image) || image.startsWith('-')) return 'must be the name of an image, without blanks.'
  return textProblem(image, maxImage)
}

function argsProblem(args: string[], mode: LaunchMode): string | undefined {
  if (args.length > 0 && mode !== 'args') return 'can be given in args mode only.'
  const characters = args.reduce((sum, arg) => sum + countCharacters(arg), 0)
  if (characters > maxArgsCharacters)
    return `must have at most ${maxArgsCharacters} characters in all, not ${characters}.`
  return textProblem(args.join(' '))
}

function diskProblem(diskGb: number): string | undefined {
  const valid = diskGb >= minDiskGb && diskGb <= maxDiskGb
  return valid ? undefined : `must be a number of GB from ${minDiskGb} to ${maxDiskGb}, not ${diskGb}.`
}

export function checkLabel(label: string): Issue | undefined {
  const message = textProblem(label, maxLabel)
  return message ? { path: 'label', message } : undefined
}
