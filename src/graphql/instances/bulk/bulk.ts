// The commands on many instances, selected by their ids or by a filter.

import { maxInstancesPerCommand, type InstanceTarget as Target } from '../../../domain/instances/command.ts'
import { builder } from '../../builder.ts'
import { parseId } from '../../ids.ts'
import { commandIds, labelField, parseLabel } from '../command-input.ts'
import { InstanceFilter, parseInstanceFilter } from '../filter.ts'
import { bulkResult, itemSelectionOf, loadBulkItems } from './items.ts'

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

const InstanceTargetInput = builder.inputType('InstanceTargetInput', {
  description: `The instances of a bulk command, at most ${maxInstancesPerCommand}. Give exactly one field.`,
  isOneOf: true,
  fields: t => ({
    ids: t.idList({
      description: `IDs of the instances, such as \`ins_42\` or \`42\`: 1 to ${maxInstancesPerCommand}, including duplicates.`,
    }),
    filter: t.field({
      type: InstanceFilter,
      description: `All instances that match when the command runs. Texts are compared without regard to case: \`startsWith: "test"\` also matches "Test". At least one condition must be given, and at most ${maxInstancesPerCommand} instances may match.`,
    }),
  }),
})

const bulkFields = {
  target: { type: InstanceTargetInput, required: true, description: 'The instances, by their IDs or by a filter.' },
  dryRun: {
    required: true,
    defaultValue: false,
    description: 'Report which instances match and the outcome for each, without changing anything. Defaults to false.',
  },
  errorPolicy: {
    type: BulkErrorPolicy,
    required: true,
    defaultValue: 'REJECT_FAILED_ITEMS',
    description: 'Treatment of the other items when one fails. Defaults to `REJECT_FAILED_ITEMS`.',
  },
  expectedCount: {
    description:
      'Refuse the command with `INVALID_INPUT` unless exactly this many instances match, as `matchedCount` counts them: an ID that is given twice counts once. Destroying by filter requires it, except in a dry run. Absent or null: any number.',
  },
} as const

const StartInstancesInput = builder.inputType('StartInstancesInput', {
  description: 'The instances to start.',
  fields: t => ({
    target: t.field(bulkFields.target),
    dryRun: t.boolean(bulkFields.dryRun),
    errorPolicy: t.field(bulkFields.errorPolicy),
    expectedCount: t.int(bulkFields.expectedCount),
  }),
})
const StopInstancesInput = builder.inputType('StopInstancesInput', {
  description: 'The instances to stop.',
  fields: t => ({
    target: t.field(bulkFields.target),
    dryRun: t.boolean(bulkFields.dryRun),
    errorPolicy: t.field(bulkFields.errorPolicy),
    expectedCount: t.int(bulkFields.expectedCount),
  }),
})
const UpdateInstancesInput = builder.inputType('UpdateInstancesInput', {
  description: 'Instances and their new settings. An absent setting stays as it is; null removes it.',
  fields: t => ({
    target: t.field(bulkFields.target),
    label: t.string(labelField),
    dryRun: t.boolean(bulkFields.dryRun),
    errorPolicy: t.field(bulkFields.errorPolicy),
    expectedCount: t.int(bulkFields.expectedCount),
  }),
})
const DestroyInstancesInput = builder.inputType('DestroyInstancesInput', {
  description: 'The instances to destroy.',
  fields: t => ({
    target: t.field(bulkFields.target),
    dryRun: t.boolean(bulkFields.dryRun),
    errorPolicy: t.field(bulkFields.errorPolicy),
    expectedCount: t.int(bulkFields.expectedCount),
  }),
})

const results = {
  start: bulkResult('startInstances', ['INVALID_INPUT', 'INSUFFICIENT_CREDIT', 'SPEND_LIMIT_EXCEEDED']),
  stop: bulkResult('stopInstances', ['INVALID_INPUT']),
  update: bulkResult('updateInstances', ['INVALID_INPUT']),
  destroy: bulkResult('destroyInstances', ['INVALID_INPUT']),
}

type BulkInput = {
  target: typeof InstanceTargetInput.$inferInput
  dryRun: boolean
  errorPolicy: keyof typeof BulkErrorPolicy.$inferType | string
  expectedCount?: number | null | undefined
}

/** The items come from a few statements, so four of them cost as much as one item of a page. */
const bulkComplexity = ({ input: { target, expectedCount } }: { input: BulkInput }) => ({
  field: 20,
  inside: { items: { multiplier: Math.ceil(clampCount(target.ids?.length ?? expectedCount ?? undefined) / 4) } },
})

const clampCount = (count = maxInstancesPerCommand) => Math.min(Math.max(count, 1), maxInstancesPerCommand)

builder.mutationFields(t => ({
  startInstances: t.field({
    type: results.start.union,
    description:
      'Starts instances: each runs as soon as it gets its GPUs. Each item succeeds or fails on its own unless `errorPolicy` says otherwise.',
    requires: 'instances.update',
    complexity: bulkComplexity,
    args: { input: t.arg({ type: StartInstancesInput, required: true, description: 'The instances to start.' }) },
    resolve: (_root, { input }, context, info) =>
      results.start.answer(commandIds.many, async () => {
        const { services, actor } = context
        const change = { targetState: 'running' } as const
        const plans = await services.instances.update(actor, parseTarget(input), change, parseOptions(input))
        return await loadBulkItems(
          context,
          plans,
          'instances.update',
          itemSelectionOf(context, info, 'StartInstancesSuccess'),
        )
      }),
  }),
  stopInstances: t.field({
    type: results.stop.union,
    description:
      'Stops instances. Their disks are kept and still cost money. Each item succeeds or fails on its own unless `errorPolicy` says otherwise.',
    requires: 'instances.update',
    complexity: bulkComplexity,
    args: { input: t.arg({ type: StopInstancesInput, required: true, description: 'The instances to stop.' }) },
    resolve: (_root, { input }, context, info) =>
      results.stop.answer(commandIds.many, async () => {
        const { services, actor } = context
        const change = { targetState: 'stopped' } as const
        const plans = await services.instances.update(actor, parseTarget(input), change, parseOptions(input))
        return await loadBulkItems(
          context,
          plans,
          'instances.update',
          itemSelectionOf(context, info, 'StopInstancesSuccess'),
        )
      }),
  }),
  updateInstances: t.field({
    type: results.update.union,
    description:
      'Gives instances another label, or removes their labels. Each item succeeds or fails on its own unless `errorPolicy` says otherwise.',
    requires: 'instances.update',
    complexity: bulkComplexity,
    args: {
      input: t.arg({
        type: UpdateInstancesInput,
        required: true,
        description: 'The instances and their new settings.',
      }),
    },
    resolve: (_root, { input }, context, info) =>
      results.update.answer(commandIds.many, async () => {
        const { services, actor } = context
        const change = { label: parseLabel(input.label) }
        const plans = await services.instances.update(actor, parseTarget(input), change, parseOptions(input))
        return await loadBulkItems(
          context,
          plans,
          'instances.update',
          itemSelectionOf(context, info, 'UpdateInstancesSuccess'),
        )
      }),
  }),
  destroyInstances: t.field({
    type: results.destroy.union,
    description:
      'Destroys instances: charges end at once, and their disks are deleted for good. By filter, `expectedCount` is required.',
    requires: 'instances.destroy',
    complexity: bulkComplexity,
    args: { input: t.arg({ type: DestroyInstancesInput, required: true, description: 'The instances to destroy.' }) },
    resolve: (_root, { input }, context, info) =>
      results.destroy.answer(commandIds.many, async () => {
        const { services, actor } = context
        const plans = await services.instances.destroy(actor, parseTarget(input), parseOptions(input))
        return await loadBulkItems(
          context,
          plans,
          'instances.destroy',
          itemSelectionOf(context, info, 'DestroyInstancesSuccess'),
        )
      }),
  }),
}))

function parseTarget({ target: { ids, filter } }: BulkInput): Target {
  // @oneOf: exactly one of them is given.
  if (!ids) return { filter: parseInstanceFilter(filter ?? {}, 'target.filter') }
  return { ids: ids.map((id, index) => parseId('Instance', String(id), `target.ids.${index}`)) }
}

function parseOptions({ errorPolicy, dryRun, expectedCount }: BulkInput) {
  return { allOrNothing: errorPolicy === 'REJECT_EVERYTHING', dryRun, expectedCount: expectedCount ?? undefined }
}
