// The commands on one instance.

import type { InstanceChange } from '../../domain/instances/actions.ts'
import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { parseId } from '../ids.ts'
import { commandIds, labelField, parseLabel } from './command-input.ts'
import { instanceResult } from './result.ts'

const idField = { required: true, description: 'ID of the instance, such as `ins_42` or `42`.' } as const

const outcome = 'The instance, or the error that prevented the change.'
const results = {
  start: instanceResult('startInstance', outcome, 'The instance runs as soon as it gets its GPUs.', [
    'INVALID_INPUT',
    'NOT_FOUND',
    'INVALID_STATE',
    'INSUFFICIENT_CREDIT',
    'SPEND_LIMIT_EXCEEDED',
    'QUOTA_EXCEEDED',
    'START_BACKOFF',
  ]),
  stop: instanceResult('stopInstance', outcome, 'The instance stops; its GPUs are no longer charged.', [
    'INVALID_INPUT',
    'NOT_FOUND',
    'INVALID_STATE',
  ]),
  update: instanceResult('updateInstance', outcome, 'The instance has the given settings.', [
    'INVALID_INPUT',
    'NOT_FOUND',
    'INVALID_STATE',
  ]),
  destroy: instanceResult('destroyInstance', outcome, 'The instance is destroyed, now or since an earlier request.', [
    'INVALID_INPUT',
    'NOT_FOUND',
  ]),
}

const StartInstanceInput = builder.inputType('StartInstanceInput', {
  description: 'The instance to start.',
  fields: t => ({ id: t.id(idField) }),
})
const StopInstanceInput = builder.inputType('StopInstanceInput', {
  description: 'The instance to stop.',
  fields: t => ({ id: t.id(idField) }),
})
const UpdateInstanceInput = builder.inputType('UpdateInstanceInput', {
  description: 'An instance and its new settings. An absent field stays as it is; null removes it.',
  fields: t => ({ id: t.id(idField), label: t.string(labelField) }),
})
const DestroyInstanceInput = builder.inputType('DestroyInstanceInput', {
  description: 'The instance to destroy.',
  fields: t => ({ id: t.id(idField) }),
})

builder.mutationFields(t => ({
  startInstance: t.field({
    type: results.start.union,
    description: 'Starts a stopped instance: it runs as soon as it gets its GPUs.',
    requires: 'instances.update',
    complexity: { field: 20 },
    args: { input: t.arg({ type: StartInstanceInput, required: true, description: 'The instance to start.' }) },
    resolve: (_root, { input }, context) =>
      results.start.answer(commandIds.one, () => change(context, input.id, { targetState: 'running' })),
  }),
  stopInstance: t.field({
    type: results.stop.union,
    description: 'Stops an instance. Its disk is kept and still costs money.',
    requires: 'instances.update',
    complexity: { field: 20 },
    args: { input: t.arg({ type: StopInstanceInput, required: true, description: 'The instance to stop.' }) },
    resolve: (_root, { input }, context) =>
      results.stop.answer(commandIds.one, () => change(context, input.id, { targetState: 'stopped' })),
  }),
  updateInstance: t.field({
    type: results.update.union,
    description: 'Gives an instance another label, or removes its label.',
    requires: 'instances.update',
    complexity: { field: 20 },
    args: {
      input: t.arg({ type: UpdateInstanceInput, required: true, description: 'The instance and its new settings.' }),
    },
    resolve: (_root, { input }, context) =>
      results.update.answer(commandIds.one, () => change(context, input.id, { label: parseLabel(input.label) })),
  }),
  destroyInstance: t.field({
    type: results.destroy.union,
    description: 'Destroys an instance: its charges end at once, and its disk is deleted for good.',
    requires: 'instances.destroy',
    complexity: { field: 20 },
    args: { input: t.arg({ type: DestroyInstanceInput, required: true, description: 'The instance to destroy.' }) },
    resolve: (_root, { input }, context) =>
      results.destroy.answer(commandIds.one, () => {
        const { services, actor } = context
        return run(context, input.id, 'instances.destroy', ids => services.instances.destroy(actor, { ids }))
      }),
  }),
}))

function change(context: Context, id: string, wanted: InstanceChange): Promise<{ instance: InstanceShape }> {
  const { services, actor } = context
  return run(context, id, 'instances.update', ids => services.instances.update(actor, { ids }, wanted))
}

/** Runs a command on one instance, and returns its state afterwards. */
async function run(
  { services, actor }: Context,
  rawId: string,
  operation: 'instances.update' | 'instances.destroy',
  command: (ids: bigint[]) => ReturnType<Context['services']['instances']['destroy']>,
): Promise<{ instance: InstanceShape }> {
  const id = parseId('Instance', rawId)
  const [plan] = await command([id])
  if (plan?.outcome === 'failed') throw plan.error
  return { instance: await services.instances.find(actor, id, operation) }
}
