import { maxIdsPerCommand } from '../../domain/instances/command.ts'
import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import type { CommandOptions } from '../../services/instances/command.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'
import { BulkInstancesPayload, loadBulkItems } from './bulk-items.ts'
import { Instance } from './instances.ts'
import { TargetState } from './status.ts'

const BulkErrorPolicy = builder.enumType('BulkErrorPolicy', {
  description: 'What becomes of the others when one of many cannot be done.',
  values: {
    REJECT_FAILED_ITEMS: { description: 'They are done.' },
    REJECT_EVERYTHING: { description: 'Nothing is done.' },
  } as const,
})

const bulkResult = resultUnion(
  'BulkInstancesResult',
  'What became of each, or why nothing was done.',
  BulkInstancesPayload,
  ['INVALID_INPUT', 'INSUFFICIENT_CREDIT', 'SPEND_LIMIT_EXCEEDED'],
)

export const InstanceSuccess = builder.objectRef<{ instance: InstanceShape }>('InstanceSuccess').implement({
  description: 'It was done.',
  fields: t => ({ instance: t.expose('instance', { type: Instance, description: 'The instance as it is now.' }) }),
})

export const instanceResult = resultUnion('InstanceResult', 'The instance, or why nothing was done.', InstanceSuccess, [
  'INVALID_INPUT',
  'NOT_FOUND',
  'INVALID_STATE',
  'INSUFFICIENT_CREDIT',
  'SPEND_LIMIT_EXCEEDED',
  'QUOTA_EXCEEDED',
  'START_BACKOFF',
])

const idsField = { required: true, description: `At most ${maxIdsPerCommand}, counted with duplicates.` } as const
const errorPolicyField = {
  type: BulkErrorPolicy,
  required: true,
  defaultValue: 'REJECT_FAILED_ITEMS',
  description: 'What becomes of the others when one cannot be done.',
} as const
const dryRunField = {
  required: true,
  defaultValue: false,
  description: 'Say what would become of each, and do nothing.',
} as const
const targetStateField = { type: TargetState, description: 'What is wished of it. As it is, when absent.' } as const
const labelField = {
  description: 'What you call it, at most 256 characters. "" takes it away. As it is, when absent.',
} as const

const UpdateInstancesInput = builder.inputType('UpdateInstancesInput', {
  description: 'A target state, a label or both, for many instances.',
  fields: t => ({
    ids: t.idList(idsField),
    targetState: t.field(targetStateField),
    label: t.string(labelField),
    errorPolicy: t.field(errorPolicyField),
    dryRun: t.boolean(dryRunField),
  }),
})

const UpdateInstanceInput = builder.inputType('UpdateInstanceInput', {
  description: 'A target state, a label or both, for one instance.',
  fields: t => ({
    id: t.id({ required: true, description: 'Such as `ins_42`, or `42`.' }),
    targetState: t.field(targetStateField),
    label: t.string(labelField),
  }),
})

const DestroyInstancesInput = builder.inputType('DestroyInstancesInput', {
  description: 'Which rentals end.',
  fields: t => ({ ids: t.idList(idsField), errorPolicy: t.field(errorPolicyField), dryRun: t.boolean(dryRunField) }),
})

builder.mutationFields(t => ({
  updateInstances: t.field({
    type: bulkResult.union,
    description: `Starts, stops or labels many instances, each for itself. ${permissionSentence('instances.update')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: UpdateInstancesInput, required: true, description: 'Which, and what.' }) },
    resolve: (_root, { input }, context) =>
      bulkResult.answer({}, async () => {
        const { services, actor } = context
        const steps = await services.instances.update(
          actor,
          parseInstanceIds(input.ids),
          parseChange(input),
          parseCommandOptions(input),
        )
        return { items: await loadBulkItems(context, steps, 'instances.update') }
      }),
  }),
  updateInstance: t.field({
    type: instanceResult.union,
    description: `Starts, stops or labels an instance. ${permissionSentence('instances.update')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: UpdateInstanceInput, required: true, description: 'Which, and what.' }) },
    resolve: (_root, { input }, context) =>
      instanceResult.answer({ ids: 'id' }, async () => {
        const { services, actor } = context
        const steps = await services.instances.update(actor, [parseId('Instance', input.id)], parseChange(input))
        const [item] = await loadBulkItems(context, steps, 'instances.update')
        if (item?.outcome === 'failed') throw item.error
        // What was not refused has an instance.
        return { instance: item?.instance as InstanceShape }
      }),
  }),
  destroyInstances: t.field({
    type: bulkResult.union,
    description: `Ends rentals: their charges, at once, and their disks, for good. ${permissionSentence('instances.destroy')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: DestroyInstancesInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      bulkResult.answer({}, async () => {
        const { services, actor } = context
        const steps = await services.instances.destroy(actor, parseInstanceIds(input.ids), parseCommandOptions(input))
        return { items: await loadBulkItems(context, steps, 'instances.destroy') }
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
