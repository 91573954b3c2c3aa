import { secretMask } from '../accounts/secret-variables.ts'
import type { Issue } from '../errors.ts'
import { type Environment, envPath } from '../launch/env.ts'
import type { LaunchInput } from '../launch/launch.ts'
import type { Registry } from '../launch/registry.ts'
import { omitUndefined, splitImageTag } from './about.ts'
import { launchInputOf, type TemplateInput, type TemplateSecrets, type TemplateSettings } from './templates.ts'

type PatchableFields = Omit<TemplateInput, 'launch'>
/** What of a template is to be another. What is absent stays as it is. */
export type TemplatePatch = { [Name in keyof PatchableFields]?: PatchableFields[Name] | undefined } & {
  launch: Omit<TemplateInput['launch'], 'registry'> & { registry?: Partial<Registry> | undefined }
}

type StoredTemplate = { name: string; public: boolean; settings: TemplateSettings }

/** All that a template is to be, which has been changed in parts. */
export function patchTemplate(kept: StoredTemplate, secrets: TemplateSecrets, patch: TemplatePatch): TemplateInput {
  const { settings } = kept
  const before = launchInputOf(settings, secrets)
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
    name: patch.name ?? kept.name,
    public: patch.public ?? kept.public,
    launch: {
      ...{ ...before, image },
      // Settings of a mode go with it.
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

/** The password stays with the user and the host that it was given for. */
function patchRegistry(before: Registry | undefined, patch: Partial<Registry> = {}): LaunchInput['registry'] {
  const { password, ...given } = omitUndefined(patch)
  const registry = { host: '', username: '', password: '', ...before, ...given }
  if (password !== undefined && password !== secretMask) return { ...registry, password }
  const isSame = registry.host === before?.host && registry.username === before?.username
  return isSame ? registry : { ...registry, password: '' }
}

/** A secret that is sent back as it was shown is the one that is kept. */
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
 * A template that somebody writes anew who has no words for some of it: that stays, and so does how REST clients wrote
 * what is as it was. `after` are the settings of his wish alone.
 */
export function keepRestOnlySettings(
  wish: TemplateInput,
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
    ...omitUndefined(wish.written ?? {}),
  }
  return { ...wish, about: { ...before.about, ...omitUndefined(wish.about ?? {}) }, written }
}

/** Secrets that a template would lose because its new settings leave them out. Nobody can read them back. */
export function lostSecretIssues(before: TemplateSettings, after: TemplateSettings): Issue[] {
  const kept = new Set(after.env.map(({ name }) => name))
  const lost = before.env.filter(({ name, secret }) => secret && !kept.has(name)).map(({ name }) => envPath(name))
  const paths = [...(before.registry && !after.registry ? ['registry'] : []), ...lost]
  return paths.map(path => ({
    path,
    message: 'is a secret of the template. Give it again, or set dropSecrets to true.',
  }))
}
