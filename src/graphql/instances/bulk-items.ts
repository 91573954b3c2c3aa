import { type ItemPlan, maxIdsPerCommand } from '../../domain/instances/command.ts'
import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { enumOf } from '../enum.ts'
import type { RefusalCode } from '../errors/codes.ts'
import { mutationResult } from '../errors/mutation-result.ts'
import { Refusal } from '../errors/refusal.ts'
import { toRefusalValue } from '../errors/refusal-value.ts'
import { printId } from '../ids.ts'
import { Instance } from './instances.ts'

const BulkItemOutcome = enumOf<ItemPlan['outcome']>('BulkItemOutcome', 'Outcome of a bulk command for one instance.', {
  applied: 'The command was applied.',
  unchanged: 'The instance was already in the requested state, so nothing changed.',
  failed: 'The command was not possible for this instance; see `error`.',
  skipped:
    'The command was not applied, because it failed for another instance and the error policy is `REJECT_EVERYTHING`.',
})

type BulkItem = ItemPlan & { index: number; instance: InstanceShape | null }

const BulkInstanceItem = builder.objectRef<BulkItem>('BulkInstanceItem').implement({
  description: 'Outcome of a bulk command for one instance.',
  fields: t => ({
    index: t.exposeInt('index', { description: 'Position of the instance ID in the input list, starting at 0.' }),
    id: t.id({ description: 'ID of the instance.', resolve: ({ id }) => printId('Instance', id) }),
    outcome: t.expose('outcome', {
      type: BulkItemOutcome,
      description: 'Outcome of the command for the instance.',
    }),
    instance: t.expose('instance', {
      type: Instance,
      nullable: true,
      description: 'Current state of the instance. Null when your account has no instance with this ID.',
    }),
    error: t.field({
      type: Refusal,
      nullable: true,
      description: 'Why the command failed. Null for any other outcome.',
      resolve: plan => (plan.outcome === 'failed' ? toRefusalValue(plan.error) : null),
    }),
  }),
})

/** The result of a mutation that commands many instances. */
export function bulkResult(mutation: string, description: string, errors: readonly RefusalCode[]) {
  return mutationResult<{ items: BulkItem[] }>(mutation, {
    description,
    success: {
      description: 'Outcomes of a bulk command.',
      fields: t => ({
        items: t.expose('items', {
          type: [BulkInstanceItem],
          description: 'One outcome per ID of the input, in the same order.',
          complexity: { multiplier: maxIdsPerCommand },
        }),
        succeededCount: t.int({
          description: 'Number of items with the outcome `APPLIED` or `UNCHANGED`.',
          resolve: ({ items }) =>
            items.filter(({ outcome }) => outcome === 'applied' || outcome === 'unchanged').length,
        }),
        failedCount: t.int({
          description: 'Number of items with the outcome `FAILED` or `SKIPPED`.',
          resolve: ({ items }) => items.filter(({ outcome }) => outcome === 'failed' || outcome === 'skipped').length,
        }),
      }),
    },
    errors,
  })
}

/** Adds the current state of its instance to each plan. */
export async function loadBulkItems(
  context: Context,
  plans: ItemPlan[],
  operation: 'instances.update' | 'instances.destroy',
): Promise<BulkItem[]> {
  const { services, actor } = context
  const instances = await services.instances.byIds(actor, [...new Set(plans.map(({ id }) => id))], operation)
  const found = new Map(instances.map(instance => [instance.id, instance]))
  return plans.map((plan, index) => ({ ...plan, index, instance: found.get(plan.id) ?? null }))
}
