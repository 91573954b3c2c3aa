import { secretMask } from '../accounts/secret-variables.ts'
import { type Environment, fillKeptSecrets, printPort } from '../launch/env.ts'
import type { LaunchInput, LaunchMode } from '../launch/launch.ts'
import { keepsPassword, type Registry } from '../launch/registry.ts'
import { omitUndefined, splitImageTag } from './about.ts'
import {
  checkTemplate,
  type TemplateInput,
  type TemplateSecrets,
  type TemplateSettings,
  templateLaunchInput,
} from './templates.ts'

type PatchableFields = Omit<TemplateInput, 'launch' | 'volumeHint'>
/** Changes to a template. Absent parts stay as they are. Null, an empty text and an empty list remove a part. */
export type TemplatePatch = { [Name in keyof PatchableFields]?: PatchableFields[Name] | undefined } & {
  volumeHint?: TemplateInput['volumeHint'] | null | undefined
  launch: Omit<TemplateInput['launch'], 'mode' | 'environment' | 'registry' | 'diskGb'> & {
    mode?: LaunchMode | null | undefined
    environment?: Partial<Environment> | undefined
    registry?: Partial<Registry> | null | undefined
    diskGb?: number | null | undefined
  }
}

export type StoredTemplate = { name: string; public: boolean; settings: TemplateSettings; secrets: TemplateSecrets }

/** The whole input of a template after a patch. */
export function patchTemplate(stored: StoredTemplate, patch: TemplatePatch): TemplateInput {
  const { settings, secrets } = stored
  const before = templateLaunchInput(settings, secrets)
  const { mode, environment, registry, diskGb, ...launch } = omitUndefined(patch.launch)
  const replacesMode = mode !== undefined && (launch.modeIsWhole || mode !== settings.mode)
  const { image, tag } = splitImageTag(settings.image, settings.written?.tag)
  const written = {
    tag: launch.image === undefined ? tag : undefined,
    envFlags: environment ? undefined : settings.written?.envFlags,
    args: launch.args || replacesMode ? undefined : settings.written?.args,
    ...omitUndefined(patch.written ?? {}),
  }
  return {
    name: patch.name ?? stored.name,
    public: patch.public ?? stored.public,
    launch: {
      ...{ ...before, image },
      // Another mode drops the settings of the previous mode.
      ...(replacesMode ? { lab: undefined, directory: undefined, args: undefined } : {}),
      ...launch,
      mode: patched(before.mode, mode),
      environment: patchEnvironment(before.environment, environment, secrets),
      registry: registry === null ? undefined : patchRegistry(before.registry, registry),
      diskGb: patched(before.diskGb, diskGb),
    },
    volumeHint: patched(volumeHintOf(settings), patch.volumeHint),
    about: { ...settings.about, ...omitUndefined(patch.about ?? {}) },
    written,
  }
}

function patched<Value>(before: Value | undefined, change: Value | null | undefined): Value | undefined {
  return change === undefined ? before : (change ?? undefined)
}

/** The stored password is kept only for the same user and host. */
function patchRegistry(before: Registry | undefined, patch: Partial<Registry> = {}): LaunchInput['registry'] {
  const { password = '', ...given } = omitUndefined(patch)
  const known = { host: '', username: '', password: '', ...before }
  const registry = { ...known, ...given, password: password === secretMask ? '' : password }
  return keepsPassword(registry, known) ? known : registry
}

/** A secret that comes back without its value or, from REST clients, as its mask keeps its stored value. */
function patchEnvironment(
  before: Environment | undefined,
  patch: Partial<Environment> | undefined,
  secrets: TemplateSecrets,
): Environment | undefined {
  if (!before || !patch) return before
  const isSecret = (name: string) => Object.hasOwn(secrets.env ?? {}, name)
  const requested = (patch.env ?? before.env).map(variable =>
    variable.value === secretMask && isSecret(variable.name)
      ? { name: variable.name, value: '', secret: true as const }
      : variable,
  )
  return { ...before, ...patch, env: fillKeptSecrets(requested, before.env) }
}

function volumeHintOf({ volumeHint }: TemplateSettings): TemplateInput['volumeHint'] {
  return volumeHint ? { mountPath: volumeHint.mountPath, sizeGb: volumeHint.sizeGb ?? undefined } : undefined
}

/** The input with the texts of unchanged settings as REST clients wrote them. */
export function keepWrittenTexts(input: TemplateInput, before: TemplateSettings): TemplateInput {
  const { settings: after } = checkTemplate(input)
  const { tag, envFlags, args } = before.written ?? {}
  const written = {
    tag: before.image === after.image ? tag : undefined,
    envFlags: environmentText(before) === environmentText(after) ? envFlags : undefined,
    args: JSON.stringify(before.args) === JSON.stringify(after.args) ? args : undefined,
  }
  return { ...input, written }
}

function environmentText({ env, ports, hostname }: TemplateSettings): string {
  return JSON.stringify([env.map(({ name, value, secret }) => [name, value, secret]), ports.map(printPort), hostname])
}
