import { DomainError, type Issue, invalidInput, joinIssues, notFound } from '../errors.ts'
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
import { quoteValue } from '../values.ts'
import { aboutIssues, compactAbout, type TemplateAbout, type TemplateWritten, withTag } from './about.ts'

/** A suggested volume, for forms. It attaches nothing. */
export type VolumeHint = { mountPath: string; sizeGb: number | null }

/** The template that a caller saves: settings for rentals. */
export type TemplateInput = {
  name: string
  public: boolean
  launch: Omit<LaunchInput, 'label' | 'targetState' | 'vm' | 'newVolumes'>
  volumeHint?: { mountPath: string; sizeGb?: number | undefined } | undefined
  about?: Partial<TemplateAbout> | undefined
  written?: TemplateWritten | undefined
}

/** The settings that every reader of the template sees: no password, and of secret variables only the names. */
export type TemplateSettings = {
  image: string
  /** Null if the template leaves the mode open. */
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

/** The settings in a stored template. Every stored template has passed `checkTemplate`. */
export function settingsOf({ settings }: { settings: unknown }): TemplateSettings {
  return settings as TemplateSettings
}

export type TemplateSecrets = { registry: Registry | null; env: Record<string, string> | null }

const maxTemplateName = 256

/** How a request names a template: by the hash of its current settings, its id, or its name among the account's own. */
export type TemplateReference = { hashId: string } | { id: bigint } | { name: string }

/** Whether the text has the form of a hash. Checked before queries, since PostgreSQL rejects some texts. */
export function isTemplateHash(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text)
}

/** The template that a name means. Throws if several of the account have it. */
export function oneByName<Found>([template, other]: Found[]): Found | undefined {
  if (other) throw severalTemplates('by.name')
  return template
}

/** The error for a name that several templates of the account have. */
export function severalTemplates(path: string): DomainError {
  const message = 'is the name of several templates of your account. Name the template by its ID or its hash.'
  return invalidInput([{ path, message }])
}

export function templateNotFound(template: TemplateReference): DomainError {
  if ('id' in template) return notFound('Template', template.id)
  const message =
    'name' in template
      ? `Your account has no template with the name ${quoteValue(template.name)}.`
      : isTemplateHash(template.hashId)
        ? `Template ${template.hashId} not found.`
        : 'Template not found: its hash must be 32 hex digits.'
  return new DomainError('NOT_FOUND', message, { subject: null })
}

/** Splits an input into the stored settings and their secrets, or throws an error that lists every issue. */
export function checkTemplate({ name, public: isPublic, launch: given, volumeHint, ...rest }: TemplateInput): {
  settings: TemplateSettings
  secrets: TemplateSecrets
} {
  const { about = {}, written = {} } = rest
  const input = { ...given, image: withTag(given.image, written.tag) }
  const { launch, issues: found } = checkLaunch(input)
  const { env: inputEnv, ports, volumes } = dedupeEnvironment(input.environment ?? emptyEnvironment())
  const nameProblem = name === '' ? 'must be given.' : textProblem(name, maxTemplateName)
  const issues = joinIssues(given.parseIssues, [
    ...(nameProblem ? [{ path: 'name', message: nameProblem }] : []),
    ...(input.image ? found : [imageMissing, ...found.filter(({ path }) => path !== 'image')]),
    ...(volumes.length > 0
      ? [{ path: 'volumes', message: 'cannot be part of a template. Attach volumes when you rent.' }]
      : []),
    ...(volumeHint ? volumeHintIssues(volumeHint) : []),
    ...aboutIssues(about),
    ...(isPublic ? secretIssues(inputEnv, nonEmptyRegistry(input.registry)) : []),
  ])
  if (issues.length > 0 || !launch) throw invalidInput(issues)

  const { image, lab, directory, args, hostname, onStart, registry } = launch
  const { env, secrets } = splitSecrets(launch.env)
  const shown = registry && { host: registry.host, username: registry.username }
  const hint = volumeHint ? { mountPath: volumeHint.mountPath, sizeGb: volumeHint.sizeGb ?? null } : null
  const open = { mode: input.mode ?? null, diskGb: input.diskGb ?? null, volumeHint: hint }
  const more = compactAbout(about, written)
  return {
    settings: { image, ...open, lab, directory, args, env, ports, hostname, onStart, registry: shown, ...more },
    secrets: { registry, env: secrets },
  }
}

const imageMissing = { path: 'image', message: 'must be given.' }

function secretIssues(env: EnvVar[], registry: Registry | null): Issue[] {
  const secret = env.filter(variable => variable.secret).map(({ name }) => envPath(name))
  const message = 'is secret and cannot be in a public template, which every account can use.'
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
 * The text that is hashed into the template's `hashId`: the owner and all visible settings. It has no secrets, so
 * another password does not change the hash. The order of variables and ports does not matter.
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

/** The launch input that a rental starts from. Only the owner's rentals can have secrets. */
export function templateLaunchInput(settings: TemplateSettings, secrets: TemplateSecrets): LaunchInput {
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
