import type { ChargeKind as Charged } from '../../domain/billing/balance.ts'
import type { UsageDimension as Dimension, UsageKey as KeyShape, UsageKeyOf } from '../../domain/billing/usage.ts'
import { ApiKey, apiKeyById } from '../accounts/api-keys.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { type NodeType, printId } from '../ids.ts'
import { Instance, instanceById } from '../instances/instances.ts'
import { GpuModel, gpuModelById } from '../machines/gpu-models.ts'
import { selectionOf } from '../selection.ts'
import { Template, templateById } from '../templates/templates.ts'
import { Volume, volumeById } from '../volumes/volumes.ts'

const ChargeKind = enumOf<Charged>('ChargeKind', 'Purpose of a continuous cost. New values may be added.', {
  gpu: 'GPUs of running instances.',
  disk: 'Disks of instances, and volumes.',
})

export const UsageDimension = enumOf<Dimension>(
  'UsageDimension',
  'A property that costs are grouped by. New values may be added.',
  {
    kind: 'One group for GPUs, one for disks and volumes.',
    instance: 'One group for each instance, destroyed ones included, and one for all volumes.',
    volume: 'One group for each volume, deleted ones included, and one for all instances.',
    apiKey: 'One group for each API key that rented instances or created volumes.',
    label:
      'One group for each label that instances have now, and one for instances without a label and volumes. A new label moves all earlier costs of its instance, too.',
    gpuModel: 'One group for each GPU model that was rented, with the disks of those instances, and one for volumes.',
    template: 'One group for each template that instances were rented with, and one for other instances and volumes.',
  },
)

const typeNames: Record<Dimension, string> = {
  kind: 'KindUsageKey',
  instance: 'InstanceUsageKey',
  volume: 'VolumeUsageKey',
  apiKey: 'ApiKeyUsageKey',
  label: 'LabelUsageKey',
  gpuModel: 'GpuModelUsageKey',
  template: 'TemplateUsageKey',
}

const nodeTypes: Partial<Record<Dimension, NodeType>> = {
  instance: 'Instance',
  volume: 'Volume',
  apiKey: 'ApiKey',
  gpuModel: 'GpuModel',
  template: 'Template',
}

export const UsageKey = builder.interfaceRef<KeyShape>('UsageKey').implement({
  description: 'What the costs of a group have in common in one dimension. New dimensions may be added.',
  resolveType: ({ dimension }) => typeNames[dimension],
  fields: t => ({
    dimension: t.expose('dimension', { type: UsageDimension, description: 'The property that this key is about.' }),
    value: t.string({
      nullable: true,
      description:
        'The key as text: an ID, a label, or `GPU` or `DISK`. Null if the costs of the group have none, as volumes have no label.',
      resolve: printValue,
    }),
  }),
})

function printValue({ dimension, value }: KeyShape): string | null {
  const type = nodeTypes[dimension]
  if (value === null || type === undefined)
    return dimension === 'kind' ? String(value).toUpperCase() : (value as string)
  return printId(type, value)
}

/** The type of the keys of one dimension. */
function keyType<D extends Dimension>(dimension: D) {
  return builder.objectRef<UsageKeyOf<D>>(typeNames[dimension])
}

keyType('kind').implement({
  description: 'A group of costs of one kind.',
  interfaces: [UsageKey],
  fields: t => ({ kind: t.expose('value', { type: ChargeKind, description: 'GPUs, or disks and volumes.' }) }),
})

keyType('instance').implement({
  description: 'A group of costs of one instance, or of all volumes.',
  interfaces: [UsageKey],
  fields: t => ({
    instanceId: t.id({
      nullable: true,
      description: 'ID of the instance. Null in the group of all volumes.',
      resolve: printValue,
    }),
    instance: t.field({
      type: Instance,
      nullable: true,
      description: 'The instance in its current state, even if it is destroyed. Null in the group of all volumes.',
      requires: 'instances.get',
      resolve: ({ value }, _args, context, info) =>
        value === null ? null : instanceById(context, selectionOf(context, info)).load(value),
    }),
  }),
})

keyType('volume').implement({
  description: 'A group of costs of one volume, or of all instances.',
  interfaces: [UsageKey],
  fields: t => ({
    volumeId: t.id({
      nullable: true,
      description: 'ID of the volume. Null in the group of all instances.',
      resolve: printValue,
    }),
    volume: t.field({
      type: Volume,
      nullable: true,
      description: 'The volume. Null if it was deleted, and in the group of all instances.',
      requires: 'volumes.get',
      resolve: ({ value }, _args, context, info) =>
        value === null ? null : volumeById(context, selectionOf(context, info)).load(value),
    }),
  }),
})

keyType('apiKey').implement({
  description: 'A group of costs of what one API key rented or created.',
  interfaces: [UsageKey],
  fields: t => ({
    apiKeyId: t.id({
      nullable: true,
      description:
        'ID of the API key that rented the instances or created the volumes. Null for volumes that are older than the ledger.',
      resolve: printValue,
    }),
    apiKey: t.field({
      type: ApiKey,
      nullable: true,
      description: 'The API key. Null if it was deleted or has expired.',
      requires: 'apiKeys.list',
      resolve: ({ value }, _args, context, info) =>
        value === null ? null : apiKeyById(context, selectionOf(context, info)).load(value),
    }),
  }),
})

keyType('label').implement({
  description: 'A group of costs of the instances that have the same label now.',
  interfaces: [UsageKey],
  fields: t => ({
    label: t.exposeString('value', {
      nullable: true,
      description: 'The label. Null in the group of instances without a label and of all volumes.',
    }),
  }),
})

keyType('gpuModel').implement({
  description: 'A group of costs of the instances that were rented with one GPU model, their disks included.',
  interfaces: [UsageKey],
  fields: t => ({
    gpuModelId: t.id({
      nullable: true,
      description: 'ID of the GPU model, fixed at the rental. Null in the group of all volumes.',
      resolve: printValue,
    }),
    gpuModel: t.field({
      type: GpuModel,
      nullable: true,
      description: 'The GPU model. Null in the group of all volumes.',
      requires: 'gpuModels.list',
      resolve: ({ value }, _args, context, info) =>
        value === null ? null : gpuModelById(context, selectionOf(context, info)).load(value),
    }),
  }),
})

keyType('template').implement({
  description: 'A group of costs of the instances that were rented with one template.',
  interfaces: [UsageKey],
  fields: t => ({
    templateId: t.id({
      nullable: true,
      description:
        'ID of the template, fixed at the rental. Null in the group of instances without a template and of all volumes.',
      resolve: printValue,
    }),
    template: t.field({
      type: Template,
      nullable: true,
      description: 'The template as it is now. Null if it was deleted or is no longer visible.',
      requires: 'templates.get',
      resolve: ({ value }, _args, context, info) =>
        value === null ? null : templateById(context, selectionOf(context, info)).load(value),
    }),
  }),
})
