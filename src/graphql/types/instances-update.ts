import type { Instance as InstanceShape } from '../../domain/instances.ts'
import { maxIdsPerCommand, type Step } from '../../domain/instances-bulk.ts'
import type { CommandOptions } from '../../services/instances-command.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { parseId, printId } from '../ids.ts'
import { needs } from '../permission.ts'
import { Refusal, refused, resultUnion } from './errors.ts'
import { Instance, instanceById, TargetState } from './instances.ts'

const BulkErrorPolicy = builder.enumType('BulkErrorPolicy', {
  description: 'What becomes of the others when one of many cannot be done.',
  values: {
    REJECT_FAILED_ITEMS: { description: 'They are done.' },
    REJECT_EVERYTHING: { description: 'Nothing is done.' },
  } as const,
})

const BulkItemOutcome = builder.enumType('BulkItemOutcome', {
  description: 'What became of one of many.',
  values: {
    APPLIED: { value: 'applied', description: 'It was done.' },
    UNCHANGED: { value: 'unchanged', description: 'It was so already.' },
    FAILED: { value: 'failed', description: 'It could not be done.' },
    SKIPPED: { value: 'skipped', description: 'It was not done, because another one could not be.' },
  } as const,
})

const BulkInstanceItem = builder.objectRef<Step & { index: number }>('BulkInstanceItem').implement({
  description: 'What became of one instance.',
  fields: t => ({
    index: t.exposeInt('index', { description: 'Where in the ids it stood, from 0.' }),
    id: t.id({ description: 'Its id.', resolve: ({ id }) => printId('Instance', id) }),
    outcome: t.expose('outcome', { type: BulkItemOutcome, description: 'What became of it.' }),
    instance: t.field({
      type: Instance,
      nullable: true,
      description: `The instance as it is now. Null when there is none of yours with this id. ${needs('instances.get')}`,
      resolve: ({ id }, _args, context) => instanceById(context).load(id),
    }),
    error: t.field({
      type: Refusal,
      nullable: true,
      description: 'Why it could not be done.',
      resolve: step => (step.outcome === 'failed' ? refused(step.error) : null),
    }),
  }),
})

const BulkInstancesPayload = builder.objectRef<{ steps: Step[] }>('BulkInstancesPayload').implement({
  description: 'What became of each.',
  fields: t => ({
    items: t.field({
      type: [BulkInstanceItem],
      description: 'One per id, in the order of the ids.',
      complexity: { multiplier: maxIdsPerCommand },
      resolve: ({ steps }) => steps.map((step, index) => ({ ...step, index })),
    }),
    succeededCount: t.int({
      description: 'How many are now as they were to be.',
      resolve: ({ steps }) => steps.filter(({ outcome }) => outcome === 'applied' || outcome === 'unchanged').length,
    }),
    failedCount: t.int({
      description: 'How many are not.',
      resolve: ({ steps }) => steps.filter(({ outcome }) => outcome === 'failed' || outcome === 'skipped').length,
    }),
  }),
})

const bulk = resultUnion('BulkInstancesResult', 'What became of each, or why nothing was done.', BulkInstancesPayload, [
  'INVALID_INPUT',
  'INSUFFICIENT_CREDIT',
])

const InstanceSuccess = builder.objectRef<{ id: bigint }>('InstanceSuccess').implement({
  description: 'It was done.',
  fields: t => ({
    instance: t.field({
      type: Instance,
      description: `The instance as it is now. ${needs('instances.get')}`,
      resolve: async ({ id }, _args, context) => (await instanceById(context).load(id)) as InstanceShape,
    }),
  }),
})

const single = resultUnion('InstanceResult', 'The instance, or why nothing was done.', InstanceSuccess, [
  'INVALID_INPUT',
  'NOT_FOUND',
  'INVALID_STATE',
  'INSUFFICIENT_CREDIT',
])

const ids = { required: true, description: `At most ${maxIdsPerCommand}, counted with duplicates.` } as const
const policy = {
  type: BulkErrorPolicy,
  required: true,
  defaultValue: 'REJECT_FAILED_ITEMS',
  description: 'What becomes of the others when one cannot be done.',
} as const
const dryRun = {
  required: true,
  defaultValue: false,
  description: 'Say what would become of each, and do nothing.',
} as const
const targetState = { type: TargetState, description: 'What is wished of it. As it is, when absent.' } as const
const label = {
  description: 'What you call it, at most 256 characters. "" takes it away. As it is, when absent.',
} as const

const UpdateInstancesInput = builder.inputType('UpdateInstancesInput', {
  description: 'A target state, a label or both, for many instances.',
  fields: t => ({
    ids: t.idList(ids),
    targetState: t.field(targetState),
    label: t.string(label),
    errorPolicy: t.field(policy),
    dryRun: t.boolean(dryRun),
  }),
})

const UpdateInstanceInput = builder.inputType('UpdateInstanceInput', {
  description: 'A target state, a label or both, for one instance.',
  fields: t => ({
    id: t.id({ required: true, description: 'Such as `ins_42`, or `42`.' }),
    targetState: t.field(targetState),
    label: t.string(label),
  }),
})

const DestroyInstancesInput = builder.inputType('DestroyInstancesInput', {
  description: 'Which rentals end.',
  fields: t => ({ ids: t.idList(ids), errorPolicy: t.field(policy), dryRun: t.boolean(dryRun) }),
})

builder.mutationFields(t => ({
  updateInstances: t.field({
    type: bulk.union,
    description: `Starts, stops or labels many instances, each for itself. ${needs('instances.update')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: UpdateInstancesInput, required: true, description: 'Which, and what.' }) },
    resolve: (_root, { input }, context) =>
      bulk.answer({}, async () => {
        const { services, actor } = context
        return {
          steps: await forgetting(
            context,
            services.instances.update(actor, readIds(input.ids), changeOf(input), optionsOf(input)),
          ),
        }
      }),
  }),
  updateInstance: t.field({
    type: single.union,
    description: `Starts, stops or labels an instance. ${needs('instances.update')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: UpdateInstanceInput, required: true, description: 'Which, and what.' }) },
    resolve: (_root, { input }, context) =>
      single.answer({ ids: 'id' }, async () => {
        const { services, actor } = context
        const id = parseId('Instance', input.id)
        const [step] = await forgetting(context, services.instances.update(actor, [id], changeOf(input)))
        if (step?.outcome === 'failed') throw step.error
        return { id }
      }),
  }),
  destroyInstances: t.field({
    type: bulk.union,
    description: `Ends rentals: their charges, at once, and their disks, for good. ${needs('instances.destroy')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: DestroyInstancesInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      bulk.answer({}, async () => {
        const { services, actor } = context
        return {
          steps: await forgetting(context, services.instances.destroy(actor, readIds(input.ids), optionsOf(input))),
        }
      }),
  }),
}))

function readIds(ids: (string | number)[]): bigint[] {
  return ids.map((id, index) => parseId('Instance', String(id), `ids[${index}]`))
}

function changeOf(input: {
  targetState?: 'running' | 'stopped' | null | undefined
  label?: string | null | undefined
}) {
  return { targetState: input.targetState ?? undefined, label: input.label ?? undefined }
}

function optionsOf(input: { errorPolicy: string; dryRun: boolean }): CommandOptions {
  return { all: input.errorPolicy === 'REJECT_EVERYTHING', dryRun: input.dryRun }
}

/** What was loaded of instances before they were changed is not what they are. */
async function forgetting(context: Context, command: Promise<Step[]>): Promise<Step[]> {
  const steps = await command
  for (const { id } of steps) instanceById(context).clear(id)
  return steps
}
