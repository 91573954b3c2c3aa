import { secretMask } from '../accounts/secret-variables.ts'
import type { Issue } from '../errors.ts'
import { type Environment, envPath } from '../launch/env.ts'
import type { LaunchInput } from '../launch/launch.ts'
import type { Registry } from '../launch/registry.ts'
import { omitUndefined, splitImageTag } from './about.ts'
import { type TemplateInput, type TemplateSecrets, type TemplateSettings, templateLaunchInput } from './templates.ts'

type PatchableFields = Omit<TemplateInput, 'launch'>
/** Changes to a template. Absent parts stay as they are. */
export type TemplatePatch = { [Name in keyof PatchableFields]?: PatchableFields[Name] | undefined } & {
  launch: Omit<TemplateInput['launch'], 'registry'> & { registry?: Partial<Registry> | undefined }
}

type StoredTemplate = { name: string; public: boolean; settings: TemplateSettings }

/** The whole input of a template after a patch. */
export function patchTemplate(stored: StoredTemplate, secrets: TemplateSecrets, patch: TemplatePatch): TemplateInput {
  const { settings } = stored
  const before = templateLaunchInput(settings, secrets)
  const { registry, environment, ...launch } = omitUndefined(patch.launch)
  const isOtherMode = launch.mode !== undefined && launch.mode !== before.mode
  const { image, tag } = splitImageTag(settings.image, settings.written?.tag)
  const written = {
    tag: launch.image === undefined ? tag : undefined,
    envFlags: environment ? undefined : settings.written?.envFlags,
    args: launch.args || isOtherMode ? undefined : settings.written?.args,
    ...omitUndefined(patch.written ?? {}),
  }
  return {
    name: patch.name ?? stored.name,
    public: patch.public ?? stored.public,
    launch: {
      ...{ ...before, image },
      // Another mode drops the settings of the previous mode.
      ...(isOtherMode ? { lab: undefined, directory: undefined, args: undefined } : {}),
      ...launch,
      environment: environment ? unmaskSecrets(environment, secrets.env ?? {}) : before.environment,
      registry: patchRegistry(before.registry, registry),
    },
    volumeHint: patch.volumeHint ?? volumeHintOf(settings),
    about: { ...settings.about, ...omitUndefined(patch.about ?? {}) },
    written,
  }
}

/** The stored password is kept only for the same user and host. */
function patchRegistry(before: Registry | undefined, patch: Partial<Registry> = {}): LaunchInput['registry'] {
  const { password, ...given } = omitUndefined(patch)
  const registry = { host: '', username: '', password: '', ...before, ...given }
  if (password !== undefined && password !== secretMask) return { ...registry, password }
  const isSame = registry.host === before?.host && registry.username === before?.username
  return isSame ? registry : { ...registry, password: '' }
}

/** A secret that comes back as its mask keeps its stored value. */
function unmaskSecrets(environment: Environment, secrets: Record<string, string>): Environment {
  const env = environment.env.map(variable => {
    const { name, value } = variable
    const kept = Object.hasOwn(secrets, name) ? secrets[name] : undefined
    return value === secretMask && kept !== undefined ? { name, value: kept, secret: true as const } : variable
  })
  return { ...environment, env }
}

function volumeHintOf({ volumeHint }: TemplateSettings): TemplateInput['volumeHint'] {
  return volumeHint ? { mountPath: volumeHint.mountPath, sizeGb: volumeHint.sizeGb ?? undefined } : undefined
}

/**
 * Keeps what only REST has fields for when a template is replaced: its description, and the texts of unchanged settings
 * as REST clients wrote them. `after` are the settings of the input alone.
 */
export function keepRestOnlySettings(
  input: TemplateInput,
  before: TemplateSettings,
  after: TemplateSettings,
): TemplateInput {
  const isSame = (...names: (keyof TemplateSettings)[]) =>
    names.every(name => JSON.stringify(before[name]) === JSON.stringify(after[name]))
  const { tag, envFlags, args } = before.written ?? {}
  const written = {
    tag: isSame('image') ? tag : undefined,
    envFlags: isSame('env', 'ports', 'hostname') ? envFlags : undefined,
    args: isSame('args') ? args : undefined,
    ...omitUndefined(input.written ?? {}),
  }
  return { ...input, about: { ...before.about, ...omitUndefined(input.about ?? {}) }, written }
}

/** Refuses to lose secrets that the new settings leave out, since they cannot be read back. */
export function lostSecretIssues(before: TemplateSettings, after: TemplateSettings): Issue[] {
  const kept = new Set(after.env.map(({ name }) => name))
  const lost = before.env.filter(({ name, secret }) => secret && !kept.has(name)).map(({ name }) => envPath(name))
  const paths = [...(before.registry && !after.registry ? ['registry'] : []), ...lost]
  return paths.map(path => ({
    path,
    message:
      'is a secret of the template, and the new settings leave it out. Send it again, or set dropSecrets to true.',
  }))
}
