// Merges a template and a request. The request takes precedence.

import type { Issue } from '../errors.ts'
import {
  dedupeEnvironment,
  type Environment,
  type EnvVar,
  emptyEnvironment,
  omitKeptSecrets,
  printPort,
} from './env.ts'
import {
  checkLaunch,
  type Launch,
  type LaunchInput,
  type LaunchSource,
  type LaunchSources,
  localeVariables,
  missingModePorts,
} from './launch.ts'
import { keepsPassword, nonEmptyRegistry, type Registry } from './registry.ts'

const scalarFields = ['image', 'onStart', 'registry', 'diskGb'] as const
const modeFields = ['lab', 'directory', 'args'] as const
const localeFlags = ['pythonUtf8', 'langUtf8'] as const
const mergedFields = [...scalarFields, ...modeFields, ...localeFlags, 'mode'] as const

/** The fields that merge by name. Other fields come from the request alone. */
type MergedFields = Pick<LaunchInput, (typeof mergedFields)[number]>

/**
 * Merges a request into a template, and names the source of each setting. A template attaches no volume. When the request
 * picks another mode or gives its mode whole, the settings of the template's mode are dropped.
 */
export function mergeLaunch(
  template: LaunchInput | undefined,
  request: LaunchInput,
): { input: LaunchInput; sources: LaunchSources } {
  const [before, own] = [pickGiven(template ?? {}), pickGiven(request)]
  const replacesMode = own.mode !== undefined && (request.modeIsWhole || own.mode !== before.mode)
  const overridden = (Object.keys(own) as (keyof MergedFields)[]).concat(replacesMode ? modeFields : [])
  const kept = omitFields(before, overridden)
  const base = { ...emptyEnvironment(), ...template?.environment }
  const requested = { ...emptyEnvironment(), ...request.environment }
  const environment = dedupeEnvironment({
    env: [...base.env, ...requested.env],
    ports: [...base.ports, ...requested.ports],
    hostname: requested.hostname || base.hostname,
    volumes: requested.volumes,
  })
  const parseIssues = [...(template?.parseIssues ?? []), ...(request.parseIssues ?? [])]
  const input = { ...omitFields(request, mergedFields), ...kept, ...own, environment, parseIssues }
  return {
    input,
    sources: { ...sourcesOf(input, kept, base, 'template'), ...sourcesOf(input, own, requested, 'request') },
  }
}

/**
 * The checked launch of a request and its template, or all issues of both. A variable of the account is added unless the
 * template or the request sets it. Secrets of the request without a value keep those of the template or of the account.
 */
export function resolveLaunch(
  template: LaunchInput | undefined,
  request: LaunchInput,
  variables: EnvVar[] = [],
): { launch: Launch; issues: [] } | { launch: undefined; issues: Issue[] } {
  const known = [...variables, ...(template?.environment?.env ?? [])]
  const { input: merged, sources: givenSources } = mergeLaunch(template, omitKept(request, template?.registry, known))
  const environment = { ...emptyEnvironment(), ...merged.environment }
  const isGiven = (name: string) => Object.hasOwn(givenSources, `env.${name}`)
  const added = variables.filter(({ name }) => !isGiven(name))
  const input = { ...merged, environment: { ...environment, env: [...added, ...environment.env] } }
  const sources = {
    ...Object.fromEntries(added.map(({ name }) => [`env.${name}`, 'account' as const])),
    ...givenSources,
  }
  const { launch, issues } = checkLaunch(input)
  return launch ? { launch: { ...launch, sources }, issues } : { launch, issues }
}

/** A request without the secrets that keep a known value. */
function omitKept(request: LaunchInput, registry: Registry | undefined, known: EnvVar[]): LaunchInput {
  const environment = request.environment && dedupeEnvironment(request.environment)
  return {
    ...request,
    environment: environment && { ...environment, env: omitKeptSecrets(environment.env, known) },
    registry: keepsPassword(request.registry, registry) ? undefined : request.registry,
  }
}

/** The given fields of an input. Empty texts, empty lists and false count as absent. */
function pickGiven(input: LaunchInput): MergedFields {
  const fields = { ...input, registry: nonEmptyRegistry(input.registry) ?? undefined }
  const isGiven = (value: unknown) =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && value !== '' && value !== false
  return Object.fromEntries(mergedFields.map(name => [name, fields[name]]).filter(([, value]) => isGiven(value)))
}

function omitFields<Input extends LaunchInput>(input: Input, names: readonly (keyof LaunchInput)[]): Input {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !names.some(other => other === name))) as Input
}

/** The paths that one side set in the merged input, including those that its mode or its locale adds. */
function sourcesOf(
  { environment }: { environment: Environment },
  own: MergedFields,
  { env, ports, hostname }: Environment,
  source: Exclude<LaunchSource, 'default'>,
): LaunchSources {
  const settings = [...scalarFields, ...modeFields, 'mode' as const].filter(name => own[name] !== undefined)
  const isSet = (name: string) => environment.env.some(variable => variable.name === name)
  const locale = localeFlags.filter(flag => own[flag]).flatMap(flag => localeVariables[flag].map(({ name }) => name))
  const paths = [
    ...settings,
    ...(hostname ? ['hostname'] : []),
    ...env.map(({ name }) => `env.${name}`),
    ...locale.filter(name => !isSet(name)).map(name => `env.${name}`),
    ...[...ports, ...(own.mode ? missingModePorts(own.mode, environment.ports) : [])].map(
      port => `ports.${printPort(port)}`,
    ),
  ]
  return Object.fromEntries(paths.map(path => [path, source]))
}
