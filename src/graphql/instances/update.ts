import { maxIdsPerCommand } from '../../domain/instances/command.ts'
import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import type { CommandOptions } from '../../services/instances/command.ts'
import { builder } from '../builder.ts'
import { parseId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'
import { bulkResult, loadBulkItems } from './bulk-items.ts'
import { instanceResult } from './result.ts'
import { TargetState } from './status.ts'

const BulkErrorPolicy = builder.enumType('BulkErrorPolicy', {
  description: 'Treatment of the other items when a bulk command fails for one.',
  values: {
    REJECT_FAILED_ITEMS: {
      description: 'Apply the command to every item that can be changed; report the rest as `FAILED`.',
    },
    REJECT_EVERYTHING: {
      description: 'Apply the command to no item; report the items that would succeed as `SKIPPED`.',
    },
  } as const,
})

const updateManyResult = bulkResult(
  'updateInstances',
  'The outcome for each instance, or the error that prevented the whole command.',
  ['INVALID_INPUT', 'INSUFFICIENT_CREDIT', 'SPEND_LIMIT_EXCEEDED'],
)
const destroyManyResult = bulkResult(
  'destroyInstances',
  'The outcome for each instance, or the error that prevented the whole command.',
  ['INVALID_INPUT'],
)
const updateResult = instanceResult(
  'updateInstance',
  'The instance, or the error that prevented the change.',
  'The change was applied, or was already in place.',
  [
    'INVALID_INPUT',
    'NOT_FOUND',
    'INVALID_STATE',
    'INSUFFICIENT_CREDIT',
    'SPEND_LIMIT_EXCEEDED',
    'QUOTA_EXCEEDED',
    'START_BACKOFF',
  ],
)

const idsField = {
  required: true,
  description: `IDs of the instances, 1 to ${maxIdsPerCommand} including duplicates.`,
} as const
const errorPolicyField = {
  type: BulkErrorPolicy,
  required: true,
  defaultValue: 'REJECT_FAILED_ITEMS',
  description: 'Treatment of the other items when one fails. Defaults to `REJECT_FAILED_ITEMS`.',
} as const
const dryRunField = {
  required: true,
  defaultValue: false,
  description: 'Report the outcome of each item without changing anything. Defaults to false.',
} as const
const targetStateField = { type: TargetState, description: 'Desired state. Unchanged when absent.' } as const
const labelField = {
  description: 'Label, at most 256 characters. "" removes it. Unchanged when absent.',
} as const

const UpdateInstancesInput = builder.inputType('UpdateInstancesInput', {
  description: 'A desired state, a label or both, for several instances.',
  fields: t => ({
    ids: t.idList(idsField),
    targetState: t.field(targetStateField),
    label: t.string(labelField),
    errorPolicy: t.field(errorPolicyField),
    dryRun: t.boolean(dryRunField),
  }),
})

const UpdateInstanceInput = builder.inputType('UpdateInstanceInput', {
  description: 'A desired state, a label or both, for one instance.',
  fields: t => ({
    id: t.id({ required: true, description: 'ID of the instance, such as `ins_42` or `42`.' }),
    targetState: t.field(targetStateField),
    label: t.string(labelField),
  }),
})

const DestroyInstancesInput = builder.inputType('DestroyInstancesInput', {
  description: 'The instances to destroy.',
  fields: t => ({ ids: t.idList(idsField), errorPolicy: t.field(errorPolicyField), dryRun: t.boolean(dryRunField) }),
})

builder.mutationFields(t => ({
  updateInstances: t.field({
    type: updateManyResult.union,
    description: `Starts, stops or labels several instances. Each item succeeds or fails on its own unless \`errorPolicy\` says otherwise. ${permissionSentence('instances.update')}`,
    complexity: { field: 20 },
    args: {
      input: t.arg({
        type: UpdateInstancesInput,
        required: true,
        description: 'The instances and the changes to make.',
      }),
    },
    resolve: (_root, { input }, context) =>
      updateManyResult.answer({}, async () => {
        const { services, actor } = context
        const plans = await services.instances.update(
          actor,
          parseInstanceIds(input.ids),
          parseChange(input),
          parseCommandOptions(input),
        )
        return { items: await loadBulkItems(context, plans, 'instances.update') }
      }),
  }),
  updateInstance: t.field({
    type: updateResult.union,
    description: `Starts, stops or labels one instance. ${permissionSentence('instances.update')}`,
    complexity: { field: 20 },
    args: {
      input: t.arg({ type: UpdateInstanceInput, required: true, description: 'The instance and the changes to make.' }),
    },
    resolve: (_root, { input }, context) =>
      updateResult.answer({ ids: 'id' }, async () => {
        const { services, actor } = context
        const plans = await services.instances.update(actor, [parseId('Instance', input.id)], parseChange(input))
        const [item] = await loadBulkItems(context, plans, 'instances.update')
        if (item?.outcome === 'failed') throw item.error
        // An item that did not fail always has an instance.
        return { instance: item?.instance as InstanceShape }
      }),
  }),
  destroyInstances: t.field({
    type: destroyManyResult.union,
    description: `Destroys instances: charges end at once, and their disks are deleted for good. ${permissionSentence('instances.destroy')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: DestroyInstancesInput, required: true, description: 'The instances to destroy.' }) },
    resolve: (_root, { input }, context) =>
      destroyManyResult.answer({}, async () => {
        const { services, actor } = context
        const plans = await services.instances.destroy(actor, parseInstanceIds(input.ids), parseCommandOptions(input))
        return { items: await loadBulkItems(context, plans, 'instances.destroy') }
      }),
  }),
}))

function parseInstanceIds(ids: (string | number)[]): bigint[] {
  return ids.map((id, index) => parseId('Instance', String(id), `ids.${index}`))
}

function parseChange(input: {
  targetState?: 'running' | 'stopped' | null | undefined
  label?: string | null | undefined
}) {
  return { targetState: input.targetState ?? undefined, label: input.label ?? undefined }
}

function parseCommandOptions(input: { errorPolicy: string; dryRun: boolean }): CommandOptions {
  return { allOrNothing: input.errorPolicy === 'REJECT_EVERYTHING', dryRun: input.dryRun }
}
