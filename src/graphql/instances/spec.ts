import type { RentInput } from '../../domain/instances/rent/decide.ts'
import { emptyEnvironment } from '../../domain/launch/env.ts'
import { maxVolumesPerInstance } from '../../domain/volumes/mount.ts'
import { builder } from '../builder.ts'
import { launchFields, launchIssuePaths, parseLaunchInput } from '../launch/input.ts'
import { parseVolumeMounts, VolumeMountInput } from '../volumes/mount.ts'
import { InstancePolicyInput, parseNewPolicyInput } from './policy.ts'
import { InstanceKind, TargetState } from './status.ts'

const TemplateSourceInput = builder.inputType('TemplateSourceInput', {
  description: 'A template to begin with. What the rest of the request says counts more.',
  fields: t => ({
    hashId: t.string({ required: true, description: 'Its hash: one of your own, or a public one.' }),
    image: t.string({ description: "In place of the template's image." }),
  }),
})

const LaunchSourceInput = builder.inputType('LaunchSourceInput', {
  description: 'Where the settings come from.',
  isOneOf: true,
  fields: t => ({
    image: t.string({ description: 'A container image, such as `pytorch/pytorch:latest`.' }),
    template: t.field({ type: TemplateSourceInput, description: 'A template.' }),
  }),
})

export const InstanceSpecInput = builder.inputType('InstanceSpecInput', {
  description: 'What an instance is to be. Only the source is required.',
  fields: t => ({
    source: t.field({ type: LaunchSourceInput, required: true, description: 'Where the settings come from.' }),
    kind: t.field({ type: InstanceKind, required: true, defaultValue: 'CONTAINER', description: 'What runs.' }),
    label: t.string({ description: 'What you call it, at most 256 characters.' }),
    targetState: t.field({
      type: TargetState,
      required: true,
      defaultValue: 'running',
      description: 'Whether it is to run at once.',
    }),
    ...launchFields(t),
    volumes: t.field({
      type: [VolumeMountInput],
      required: true,
      defaultValue: [],
      description: `Volumes on the machine of the offer, at most ${maxVolumesPerInstance}.`,
    }),
    policy: t.field({
      type: InstancePolicyInput,
      description: 'What is to happen to it by itself. Nothing when absent.',
    }),
  }),
})
type SpecInput = typeof InstanceSpecInput.$inferInput

/** Where the input has what the domain calls otherwise. */
export const specIssuePaths: Record<string, string> = {
  image: 'spec.source.image',
  vm: 'spec.kind',
  newVolumes: 'spec.volumes',
  ...Object.fromEntries(
    ['stopAt', 'stopAtCost', 'destroyAt', 'destroyWhenStoppedFor'].map(name => [name, `spec.policy.${name}`]),
  ),
  ...Object.fromEntries(Object.entries(launchIssuePaths).map(([name, path]) => [name, `spec.${path}`])),
  ...Object.fromEntries(
    ['env', 'envFlags', 'ports', 'hostname', 'onStart', 'registry', 'diskGb', 'label', 'volumes'].map(name => [
      name,
      `spec.${name}`,
    ]),
  ),
}

/** What runs, and the hash of the template that it begins with. */
export function parseSpecInput({
  source,
  kind,
  label,
  targetState,
  volumes: mounts,
  policy,
  ...settings
}: SpecInput): Pick<RentInput, 'launch' | 'templateHash' | 'policy'> {
  const { image, template } = source
  const { parseIssues = [], environment = emptyEnvironment(), ...rest } = parseLaunchInput(settings)
  const { volumes, newVolumes, parseIssues: mountIssues } = parseVolumeMounts(mounts)
  const launch = {
    ...rest,
    environment: { ...environment, volumes: [...environment.volumes, ...volumes] },
    newVolumes,
    parseIssues: [...parseIssues, ...mountIssues],
    image: image ?? template?.image ?? undefined,
    vm: kind === 'VM',
    label: label ?? undefined,
    targetState,
  }
  return { launch, templateHash: template?.hashId || undefined, policy: parseNewPolicyInput(policy) }
}
