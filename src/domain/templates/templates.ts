import { type Issue, invalidInput } from '../errors.ts'
import {
  dedupeEnvironment,
  type EnvVar,
  emptyEnvironment,
  envPath,
  type Port,
  printPort,
  restoreSecrets,
  splitSecrets,
  volumeProblem,
} from '../launch/env.ts'
import { checkLaunch, type LaunchInput, type LaunchMode } from '../launch/launch.ts'
import { nonEmptyRegistry, type Registry } from '../launch/registry.ts'
import { maxDiskGb } from '../offers/offers.ts'
import { textProblem } from '../texts.ts'
import { aboutIssues, compactAbout, type TemplateAbout, type TemplateWritten, withTag } from './about.ts'

/** Where a volume would be mounted, for a form that asks. It attaches nothing. */
export type VolumeHint = { mountPath: string; sizeGb: number | null }

/** What somebody wishes to keep: settings to begin rentals with. */
export type TemplateInput = {
  name: string
  public: boolean
  launch: Omit<LaunchInput, 'label' | 'targetState' | 'vm' | 'newVolumes'>
  volumeHint?: { mountPath: string; sizeGb?: number | undefined } | undefined
  about?: Partial<TemplateAbout> | undefined
  written?: TemplateWritten | undefined
}

/** What everybody may see who may see the template: no password, and of a secret variable only its name. */
export type TemplateSettings = {
  image: string
  /** Null where the template leaves it open. */
  mode: LaunchMode | null
  lab: boolean
  directory: string | null
  args: string[]
  env: EnvVar[]
  ports: Port[]
  hostname: string | null
  onStart: string | null
  registry: Omit<Registry, 'password'> | null
  diskGb: number | null
  volumeHint: VolumeHint | null
  about?: TemplateAbout | undefined
  written?: TemplateWritten | undefined
}

export type TemplateSecrets = { registry: Registry | null; env: Record<string, string> | null }

export type Template = {
  id: number
  hashId: string
  name: string
  public: boolean
  settings: TemplateSettings
  /** How many instances the account that asks has rented with it. */
  rentals: number
  /** Whether it belongs to the account that asks. Whose else it is nobody is told. */
  mine: boolean
  createdAt: Date
  updatedAt: Date
}

const maxTemplateName = 256

/** Whether a template can have this hash. What cannot be a text of the database is no such. */
export function isTemplateHash(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text)
}

/** What is kept of a wish, and what of that is secret; or an error that names everything wrong. */
export function checkTemplate({ name, public: isPublic, launch: given, volumeHint, ...rest }: TemplateInput): {
  settings: TemplateSettings
  secrets: TemplateSecrets
} {
  const { about = {}, written = {} } = rest
  const wish = { ...given, image: withTag(given.image, written.tag) }
  const { launch, issues: found } = checkLaunch(wish)
  const { env: wishedEnv, ports, volumes } = dedupeEnvironment(wish.environment ?? emptyEnvironment())
  const nameProblem = name === '' ? 'must be given.' : textProblem(name, maxTemplateName)
  const issues: Issue[] = [
    ...(nameProblem ? [{ path: 'name', message: nameProblem }] : []),
    ...(wish.image ? found : [imageMissing, ...found.filter(({ path }) => path !== 'image')]),
    ...(volumes.length > 0 ? [{ path: 'volumes', message: 'attach to a rental, not to a template.' }] : []),
    ...(volumeHint ? volumeHintIssues(volumeHint) : []),
    ...aboutIssues(about),
    ...(isPublic ? secretIssues(wishedEnv, nonEmptyRegistry(wish.registry)) : []),
  ]
  if (issues.length > 0 || !launch) throw invalidInput(issues)

  const { image, lab, directory, args, hostname, onStart, registry } = launch
  const { env, secrets } = splitSecrets(launch.env)
  const shown = registry && { host: registry.host, username: registry.username }
  const hint = volumeHint ? { mountPath: volumeHint.mountPath, sizeGb: volumeHint.sizeGb ?? null } : null
  const open = { mode: wish.mode ?? null, diskGb: wish.diskGb ?? null, volumeHint: hint }
  const more = compactAbout(about, written)
  return {
    settings: { image, ...open, lab, directory, args, env, ports, hostname, onStart, registry: shown, ...more },
    secrets: { registry, env: secrets },
  }
}

const imageMissing = { path: 'image', message: 'must be given.' }

function secretIssues(env: EnvVar[], registry: Registry | null): Issue[] {
  const secret = env.filter(variable => variable.secret).map(({ name }) => envPath(name))
  const message = 'is secret, and cannot be in a public template, with which everybody can rent.'
  return [...(registry ? ['registry'] : []), ...secret].map(path => ({ path, message }))
}

function volumeHintIssues({ mountPath, sizeGb = 1 }: NonNullable<TemplateInput['volumeHint']>): Issue[] {
  const message = volumeProblem({ volumeId: 1n, mountPath })
  const fits = sizeGb > 0 && sizeGb <= maxDiskGb
  const sizes = `must be a number of GB above 0 and at most ${maxDiskGb}, not ${sizeGb}.`
  return [
    ...(message ? [{ path: 'volumeHint.mountPath', message }] : []),
    ...(fits ? [] : [{ path: 'volumeHint.sizeGb', message: sizes }]),
  ]
}

/**
 * The text whose hash names a template: its owner, and everything that can be seen of it. No secret is in it, so a
 * template with another password is the same template. Variables and ports have no order.
 */
export function canonicalTemplate(
  accountId: number,
  name: string,
  isPublic: boolean,
  settings: TemplateSettings,
): string {
  const { image, mode, lab, directory, args, hostname, onStart, registry, diskGb, volumeHint, about } = settings
  const variables = settings.env.map(variable => [variable.name, variable.secret ? null : variable.value])
  return JSON.stringify([
    ...['v1', accountId, name, isPublic, image, mode, lab, directory, args, hostname, onStart, diskGb],
    variables.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    settings.ports.map(printPort).toSorted(),
    registry && [registry.host, registry.username],
    volumeHint && [volumeHint.mountPath, volumeHint.sizeGb],
    ...(about ? [Object.entries(about).toSorted(([a], [b]) => (a < b ? -1 : 1))] : []),
  ])
}

/** What a rental begins with. The secrets are those of its owner, who alone has them. */
export function launchInputOf(settings: TemplateSettings, secrets: TemplateSecrets): LaunchInput {
  const { image, mode, lab, directory, args, env, ports, hostname, onStart, diskGb } = settings
  return {
    image,
    mode: mode ?? undefined,
    lab,
    directory: directory ?? undefined,
    args,
    environment: { env: restoreSecrets(env, secrets.env ?? {}), ports, hostname: hostname ?? undefined, volumes: [] },
    onStart: onStart ?? undefined,
    registry: secrets.registry ?? undefined,
    diskGb: diskGb ?? undefined,
  }
}
