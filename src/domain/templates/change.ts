import { mask } from '../accounts/secret-variables.ts'
import type { Issue } from '../errors.ts'
import { type Environment, envPath } from '../launch/env.ts'
import type { LaunchWish } from '../launch/launch.ts'
import type { Registry } from '../launch/registry.ts'
import { defined, writtenImage } from './about.ts'
import { launchOf, type TemplateSecrets, type TemplateSettings, type TemplateWish } from './templates.ts'

type Parts = Omit<TemplateWish, 'launch'>
/** What of a template is to be another. What is absent stays as it is. */
export type TemplatePatch = { [Name in keyof Parts]?: Parts[Name] | undefined } & {
  launch: Omit<TemplateWish['launch'], 'registry'> & { registry?: Partial<Registry> | undefined }
}

type Kept = { name: string; public: boolean; settings: TemplateSettings }

/** All that a template is to be, which has been changed in parts. */
export function changedWish(kept: Kept, secrets: TemplateSecrets, patch: TemplatePatch): TemplateWish {
  const { settings } = kept
  const before = launchOf(settings, secrets)
  const { registry, environment, ...launch } = defined(patch.launch)
  const isOtherMode = launch.mode !== undefined && launch.mode !== before.mode
  const { image, tag } = writtenImage(settings.image, settings.written?.tag)
  const written = {
    tag: launch.image === undefined ? tag : undefined,
    envFlags: environment ? undefined : settings.written?.envFlags,
    args: launch.args || isOtherMode ? undefined : settings.written?.args,
    ...defined(patch.written ?? {}),
  }
  return {
    name: patch.name ?? kept.name,
    public: patch.public ?? kept.public,
    launch: {
      ...{ ...before, image },
      // Settings of a mode go with it.
      ...(isOtherMode ? { lab: undefined, directory: undefined, args: undefined } : {}),
      ...launch,
      environment: environment ? unmasked(environment, secrets.env ?? {}) : before.environment,
      registry: changedRegistry(before.registry, registry),
    },
    volumeHint: patch.volumeHint ?? hintOf(settings),
    about: { ...settings.about, ...defined(patch.about ?? {}) },
    written,
  }
}

/** The password stays with the user and the host that it was given for. */
function changedRegistry(before: Registry | undefined, patch: Partial<Registry> = {}): LaunchWish['registry'] {
  const { password, ...given } = defined(patch)
  const registry = { host: '', username: '', password: '', ...before, ...given }
  if (password !== undefined && password !== mask) return { ...registry, password }
  const isSame = registry.host === before?.host && registry.username === before?.username
  return isSame ? registry : { ...registry, password: '' }
}

/** A secret that is sent back as it was shown is the one that is kept. */
function unmasked(environment: Environment, secrets: Record<string, string>): Environment {
  const env = environment.env.map(variable => {
    const { name, value } = variable
    const kept = Object.hasOwn(secrets, name) ? secrets[name] : undefined
    return value === mask && kept !== undefined ? { name, value: kept, secret: true as const } : variable
  })
  return { ...environment, env }
}

function hintOf({ volumeHint }: TemplateSettings): TemplateWish['volumeHint'] {
  return volumeHint ? { mountPath: volumeHint.mountPath, sizeGb: volumeHint.sizeGb ?? undefined } : undefined
}

/**
 * A template that somebody writes anew who has no words for some of it: that stays, and so does how REST clients wrote
 * what is as it was. `after` are the settings of his wish alone.
 */
export function withUnsaid(wish: TemplateWish, before: TemplateSettings, after: TemplateSettings): TemplateWish {
  const isSame = (...names: (keyof TemplateSettings)[]) =>
    names.every(name => JSON.stringify(before[name]) === JSON.stringify(after[name]))
  const { tag, envFlags, args } = before.written ?? {}
  const written = {
    tag: isSame('image') ? tag : undefined,
    envFlags: isSame('env', 'ports', 'hostname') ? envFlags : undefined,
    args: isSame('args') ? args : undefined,
    ...defined(wish.written ?? {}),
  }
  return { ...wish, about: { ...before.about, ...defined(wish.about ?? {}) }, written }
}

/** Secrets that a template would lose because its new settings leave them out. Nobody can read them back. */
export function lostSecrets(before: TemplateSettings, after: TemplateSettings): Issue[] {
  const kept = new Set(after.env.map(({ name }) => name))
  const lost = before.env.filter(({ name, secret }) => secret && !kept.has(name)).map(({ name }) => envPath(name))
  const paths = [...(before.registry && !after.registry ? ['registry'] : []), ...lost]
  return paths.map(path => ({
    path,
    message: 'is a secret of the template. Give it again, or set dropSecrets to true.',
  }))
}
