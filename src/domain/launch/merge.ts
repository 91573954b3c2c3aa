// A template is what to begin with. What the request says counts, and the rest is the template's.

import type { Issue } from '../errors.ts'
import { distinct, type Environment, type EnvVar, emptyEnvironment, printPort } from './env.ts'
import {
  addedPorts,
  checkLaunch,
  type Launch,
  type LaunchSource,
  type LaunchSources,
  type LaunchWish,
  localeVariables,
} from './launch.ts'
import { givenRegistry } from './registry.ts'

const scalars = ['image', 'onStart', 'registry', 'diskGb'] as const
const modeFields = ['lab', 'directory', 'args'] as const
const locales = ['pythonUtf8', 'langUtf8'] as const
const merged = [...scalars, ...modeFields, ...locales, 'mode'] as const

/** What is merged by name: the rest of a wish is the request's alone. */
type Merged = Pick<LaunchWish, (typeof merged)[number]>

/**
 * What a request wishes that begins with a template, and where each part of it came from. A template attaches no volume.
 * Its settings of a mode are dropped when the request picks another.
 */
export function mergeLaunch(
  template: LaunchWish | undefined,
  request: LaunchWish,
): { wish: LaunchWish; sources: LaunchSources } {
  const [before, own] = [given(template ?? {}), given(request)]
  const isOtherMode = own.mode !== undefined && own.mode !== before.mode
  const overruled = (Object.keys(own) as (keyof Merged)[]).concat(isOtherMode ? modeFields : [])
  const kept = without(before, overruled)
  const base = { ...emptyEnvironment(), ...template?.environment }
  const asked = { ...emptyEnvironment(), ...request.environment }
  const environment = distinct({
    env: [...base.env, ...asked.env],
    ports: [...base.ports, ...asked.ports],
    hostname: asked.hostname || base.hostname,
    volumes: asked.volumes,
  })
  const unread = [...(template?.unread ?? []), ...(request.unread ?? [])]
  const wish = { ...without(request, merged), ...kept, ...own, environment, unread }
  return { wish, sources: { ...sourcesOf(wish, kept, base, 'template'), ...sourcesOf(wish, own, asked, 'request') } }
}

/**
 * Settles a request that may begin with a template, or says everything that is wrong with both together. Variables of the
 * account are there where neither says otherwise.
 */
export function settleLaunch(
  template: LaunchWish | undefined,
  request: LaunchWish,
  variables: EnvVar[] = [],
): { launch: Launch; issues: [] } | { launch: undefined; issues: Issue[] } {
  const { wish: merged, sources: said } = mergeLaunch(template, request)
  const environment = { ...emptyEnvironment(), ...merged.environment }
  const isSaid = (name: string) => Object.hasOwn(said, `env.${name}`)
  const added = variables.filter(({ name }) => !isSaid(name))
  const wish = { ...merged, environment: { ...environment, env: [...added, ...environment.env] } }
  const sources = { ...Object.fromEntries(added.map(({ name }) => [`env.${name}`, 'account' as const])), ...said }
  const { launch, issues } = checkLaunch(wish)
  return launch ? { launch: { ...launch, sources }, issues } : { launch, issues }
}

/** What is there of a wish: empty texts and lists, and false, are absent. */
function given(wish: LaunchWish): Merged {
  const wished = { ...wish, registry: givenRegistry(wish.registry) ?? undefined }
  const isGiven = (value: unknown) =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && value !== '' && value !== false
  return Object.fromEntries(merged.map(name => [name, wished[name]]).filter(([, value]) => isGiven(value)))
}

function without<Wish extends LaunchWish>(wish: Wish, names: readonly (keyof LaunchWish)[]): Wish {
  return Object.fromEntries(Object.entries(wish).filter(([name]) => !names.some(other => other === name))) as Wish
}

/** The paths that one side has set in the merged wish. What its mode or its locale adds is its own too. */
function sourcesOf(
  { environment }: { environment: Environment },
  own: Merged,
  { env, ports, hostname }: Environment,
  source: Exclude<LaunchSource, 'default'>,
): LaunchSources {
  const settings = [...scalars, ...modeFields, 'mode' as const].filter(name => own[name] !== undefined)
  const isSet = (name: string) => environment.env.some(variable => variable.name === name)
  const locale = locales.filter(flag => own[flag]).flatMap(flag => localeVariables[flag].map(({ name }) => name))
  const paths = [
    ...settings,
    ...(hostname ? ['hostname'] : []),
    ...env.map(({ name }) => `env.${name}`),
    ...locale.filter(name => !isSet(name)).map(name => `env.${name}`),
    ...[...ports, ...(own.mode ? addedPorts(own.mode, environment.ports) : [])].map(port => `ports.${printPort(port)}`),
  ]
  return Object.fromEntries(paths.map(path => [path, source]))
}
