// A template is what to begin with. What the request says counts, and the rest is the template's.

import type { Issue } from '../errors.ts'
import { dedupeEnvironment, type Environment, type EnvVar, emptyEnvironment, printPort } from './env.ts'
import {
  checkLaunch,
  type Launch,
  type LaunchInput,
  type LaunchSource,
  type LaunchSources,
  localeVariables,
  missingModePorts,
} from './launch.ts'
import { nonEmptyRegistry } from './registry.ts'

const scalarFields = ['image', 'onStart', 'registry', 'diskGb'] as const
const modeFields = ['lab', 'directory', 'args'] as const
const localeFlags = ['pythonUtf8', 'langUtf8'] as const
const mergedFields = [...scalarFields, ...modeFields, ...localeFlags, 'mode'] as const

/** What is merged by name: the rest of a wish is the request's alone. */
type MergedFields = Pick<LaunchInput, (typeof mergedFields)[number]>

/**
 * What a request wishes that begins with a template, and where each part of it came from. A template attaches no volume.
 * Its settings of a mode are dropped when the request picks another.
 */
export function mergeLaunch(
  template: LaunchInput | undefined,
  request: LaunchInput,
): { input: LaunchInput; sources: LaunchSources } {
  const [before, own] = [pickGiven(template ?? {}), pickGiven(request)]
  const isOtherMode = own.mode !== undefined && own.mode !== before.mode
  const overruled = (Object.keys(own) as (keyof MergedFields)[]).concat(isOtherMode ? modeFields : [])
  const kept = omitFields(before, overruled)
  const base = { ...emptyEnvironment(), ...template?.environment }
  const asked = { ...emptyEnvironment(), ...request.environment }
  const environment = dedupeEnvironment({
    env: [...base.env, ...asked.env],
    ports: [...base.ports, ...asked.ports],
    hostname: asked.hostname || base.hostname,
    volumes: asked.volumes,
  })
  const parseIssues = [...(template?.parseIssues ?? []), ...(request.parseIssues ?? [])]
  const input = { ...omitFields(request, mergedFields), ...kept, ...own, environment, parseIssues }
  return { input, sources: { ...sourcesOf(input, kept, base, 'template'), ...sourcesOf(input, own, asked, 'request') } }
}

/**
 * Settles a request that may begin with a template, or says everything that is wrong with both together. Variables of the
 * account are there where neither says otherwise.
 */
export function resolveLaunch(
  template: LaunchInput | undefined,
  request: LaunchInput,
  variables: EnvVar[] = [],
): { launch: Launch; issues: [] } | { launch: undefined; issues: Issue[] } {
  const { input: merged, sources: said } = mergeLaunch(template, request)
  const environment = { ...emptyEnvironment(), ...merged.environment }
  const isSaid = (name: string) => Object.hasOwn(said, `env.${name}`)
  const added = variables.filter(({ name }) => !isSaid(name))
  const wish = { ...merged, environment: { ...environment, env: [...added, ...environment.env] } }
  const sources = { ...Object.fromEntries(added.map(({ name }) => [`env.${name}`, 'account' as const])), ...said }
  const { launch, issues } = checkLaunch(wish)
  return launch ? { launch: { ...launch, sources }, issues } : { launch, issues }
}

/** What is there of a wish: empty texts and lists, and false, are absent. */
function pickGiven(wish: LaunchInput): MergedFields {
  const wished = { ...wish, registry: nonEmptyRegistry(wish.registry) ?? undefined }
  const isGiven = (value: unknown) =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && value !== '' && value !== false
  return Object.fromEntries(mergedFields.map(name => [name, wished[name]]).filter(([, value]) => isGiven(value)))
}

function omitFields<Wish extends LaunchInput>(wish: Wish, names: readonly (keyof LaunchInput)[]): Wish {
  return Object.fromEntries(Object.entries(wish).filter(([name]) => !names.some(other => other === name))) as Wish
}

/** The paths that one side has set in the merged wish. What its mode or its locale adds is its own too. */
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
