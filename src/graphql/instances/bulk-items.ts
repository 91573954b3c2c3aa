import { type ItemPlan, maxIdsPerCommand } from '../../domain/instances/command.ts'
import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { enumOf } from '../enum.ts'
import { Refusal } from '../errors/error-types.ts'
import { toRefusalValue } from '../errors/result-union.ts'
import { printId } from '../ids.ts'
import { Instance } from './instances.ts'

const BulkItemOutcome = enumOf<ItemPlan['outcome']>('BulkItemOutcome', 'What became of one of many.', {
  applied: 'It was done.',
  unchanged: 'It was so already.',
  failed: 'It could not be done.',
  skipped: 'It was not done, because another one could not be.',
})

type BulkItem = ItemPlan & { index: number; instance: InstanceShape | null }

const BulkInstanceItem = builder.objectRef<BulkItem>('BulkInstanceItem').implement({
  description: 'What became of one instance.',
  fields: t => ({
    index: t.exposeInt('index', { description: 'Where in the ids it stood, from 0.' }),
    id: t.id({ description: 'Its id.', resolve: ({ id }) => printId('Instance', id) }),
    outcome: t.expose('outcome', { type: BulkItemOutcome, description: 'What became of it.' }),
    instance: t.expose('instance', {
      type: Instance,
      nullable: true,
      description: 'The instance as it is now. Null when there is none of yours with this id.',
    }),
    error: t.field({
      type: Refusal,
      nullable: true,
      description: 'Why it could not be done.',
      resolve: step => (step.outcome === 'failed' ? toRefusalValue(step.error) : null),
    }),
  }),
})

export const BulkInstancesPayload = builder.objectRef<{ items: BulkItem[] }>('BulkInstancesPayload').implement({
  description: 'What became of each.',
  fields: t => ({
    items: t.expose('items', {
      type: [BulkInstanceItem],
      description: 'One per id, in the order of the ids.',
      complexity: { multiplier: maxIdsPerCommand },
    }),
    succeededCount: t.int({
      description: 'How many are now as they were to be.',
      resolve: ({ items }) => items.filter(({ outcome }) => outcome === 'applied' || outcome === 'unchanged').length,
    }),
    failedCount: t.int({
      description: 'How many are not.',
      resolve: ({ items }) => items.filter(({ outcome }) => outcome === 'failed' || outcome === 'skipped').length,
    }),
  }),
})

/** The steps with their instances as they are now. */
export async function loadBulkItems(
  context: Context,
  steps: ItemPlan[],
  operation: 'instances.update' | 'instances.destroy',
): Promise<BulkItem[]> {
  const { services, actor } = context
  const instances = await services.instances.byIds(actor, [...new Set(steps.map(({ id }) => id))], operation)
  const found = new Map(instances.map(instance => [instance.id, instance]))
  return steps.map((step, index) => ({ ...step, index, instance: found.get(step.id) ?? null }))
}
