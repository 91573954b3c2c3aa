import type { RentInput } from '../../domain/instances/rent/decide.ts'
import { maxVolumesPerInstance } from '../../domain/volumes/mount.ts'
import { builder } from '../builder.ts'
import { launchFields, launchIssuePaths, parseLaunchInput } from '../launch/input.ts'
import { blankNameIssues } from '../mutations.ts'
import { parseTemplateBy, TemplateByInput } from '../templates/by.ts'
import { parseVolumeMounts, VolumeMountInput } from '../volumes/mount.ts'
import { InstancePolicyInput, parseNewPolicyInput } from './policy.ts'
import { InstanceKind, TargetState } from './status.ts'

const TemplateSourceInput = builder.inputType('TemplateSourceInput', {
  description: 'A template whose settings are the defaults. Settings of the request override them.',
  fields: t => ({
    by: t.field({ type: TemplateByInput, required: true, description: 'ID, hash or name of the template.' }),
    image: t.string({
      description: "Container image that replaces the template's image. If absent or null, the template's.",
    }),
  }),
})

const LaunchSourceInput = builder.inputType('LaunchSourceInput', {
  description: 'Where the settings of an instance come from: an image or a template.',
  isOneOf: true,
  fields: t => ({
    image: t.string({ description: 'Container image, such as `pytorch/pytorch:latest`.' }),
    template: t.field({ type: TemplateSourceInput, description: 'Template whose settings are the defaults.' }),
  }),
})

export const InstanceSpecInput = builder.inputType('InstanceSpecInput', {
  description: 'Settings of a new instance. Only `source` is required.',
  fields: t => ({
    source: t.field({ type: LaunchSourceInput, required: true, description: 'Image or template to start from.' }),
    kind: t.field({
      type: InstanceKind,
      required: true,
      defaultValue: 'CONTAINER',
      description: 'Container or virtual machine. Defaults to a container.',
    }),
    label: t.string({ description: 'Label of the instance, 1 to 256 characters, not blank. None if absent or null.' }),
    targetState: t.field({
      type: TargetState,
      required: true,
      defaultValue: 'running',
      description: 'Desired state after renting. Defaults to `RUNNING`.',
    }),
    ...launchFields(t, {
      mode: "Defaults to the template's mode, or else to SSH through the proxy.",
      diskGb: "Defaults to the template's size, or else to 8.",
      env: 'They are added to the variables of the template and of the account, and replace those of the same name. Defaults to none.',
      ports: 'They are added to the ports of the template. Defaults to none.',
      others: "If absent or null, the template's.",
    }),
    volumes: t.field({
      type: [VolumeMountInput],
      required: true,
      defaultValue: [],
      description: `Volumes to mount, at most ${maxVolumesPerInstance}. They must be on the machine of the offer. Defaults to none.`,
    }),
    policy: t.field({
      type: InstancePolicyInput,
      description: 'When to stop or destroy the instance automatically. Defaults to never.',
    }),
  }),
})
type SpecInput = typeof InstanceSpecInput.$inferInput

/** Input paths of the fields that have another name in the domain. */
export const specIssuePaths: Record<string, string> = {
  image: 'spec.source.image',
  templateName: 'spec.source.template.by.name',
  vm: 'spec.kind',
  newVolumes: 'spec.volumes',
  ...Object.fromEntries(
    [
      'stopAt',
      'stopAtCost',
      'destroyAt',
      'destroyAfterStoppedSeconds',
      'stopWhenIdle.gpuBelowPercent',
      'stopWhenIdle.forSeconds',
    ].map(name => [name, `spec.policy.${name}`]),
  ),
  ...Object.fromEntries(Object.entries(launchIssuePaths).map(([name, path]) => [name, `spec.${path}`])),
  ...Object.fromEntries(
    ['env', 'ports', 'hostname', 'onStart', 'registry', 'diskGb', 'label', 'volumes'].map(name => [
      name,
      `spec.${name}`,
    ]),
  ),
}

export function parseSpecInput({
  source,
  kind,
  label,
  targetState,
  volumes: mounts,
  policy,
  ...settings
}: SpecInput): Pick<RentInput, 'launch' | 'template' | 'policy'> {
  const { image, template } = source
  const { parseIssues, environment, ...rest } = parseLaunchInput(settings)
  const { volumes, newVolumes, parseIssues: mountIssues } = parseVolumeMounts(mounts)
  const launch = {
    ...rest,
    environment: { ...environment, volumes },
    newVolumes,
    parseIssues: [...parseIssues, ...mountIssues, ...blankNameIssues({ label })],
    image: image ?? template?.image ?? undefined,
    vm: kind === 'VM',
    label: label ?? undefined,
    targetState,
  }
  return {
    launch,
    template: template && parseTemplateBy(template.by, 'spec.source.template.by'),
    policy: parseNewPolicyInput(policy),
  }
}
