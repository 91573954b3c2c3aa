import type { GraphQLResolveInfo } from 'graphql'
import type { ItemPlan } from '../../../domain/instances/command.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../context.ts'
import { enumOf } from '../../enum.ts'
import type { RefusalCode } from '../../errors/codes.ts'
import { mutationResult } from '../../errors/mutation-result.ts'
import { Refusal } from '../../errors/refusal.ts'
import { toRefusalValue } from '../../errors/refusal-value.ts'
import { printId } from '../../ids.ts'
import { selectionOf } from '../../selection.ts'
import { Instance } from '../instances.ts'

const BulkItemOutcome = enumOf<ItemPlan['outcome']>(
  'BulkItemOutcome',
  'Outcome of a bulk command for one instance. New values may be added.',
  {
    applied: 'The command was applied, or would be if this were not a dry run.',
    unchanged: 'The instance was already in the requested state, so nothing changes.',
    failed: 'The command was not possible for this instance; see `error`.',
    skipped:
      'The command was not applied, because it failed for another instance and the error policy is `REJECT_EVERYTHING`.',
  },
)

type BulkItem = ItemPlan & { index: number; instance: { id: bigint } | null }

const BulkInstanceItem = builder.objectRef<BulkItem>('BulkInstanceItem').implement({
  description: 'Outcome of a bulk command for one instance.',
  fields: t => ({
    index: t.exposeInt('index', {
      description:
        'Position of the item in `items`, starting at 0; for IDs, also the position of the ID in the target.',
    }),
    instanceId: t.id({
      description: 'ID of the instance, such as `ins_42`.',
      resolve: ({ id }) => printId('Instance', id),
    }),
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

type BulkOutcome = { items: BulkItem[] }

/** The result of a bulk command: its outcome for each instance, or the error that prevented the whole command. */
export function bulkResult(mutation: string, errors: readonly RefusalCode[]) {
  return mutationResult<BulkOutcome>(mutation, {
    description: 'The outcome for each instance, or the error that prevented the whole command.',
    success: {
      description: 'Outcomes of the command for the instances that match.',
      fields: t => ({
        items: t.expose('items', {
          type: [BulkInstanceItem],
          description: 'One outcome per ID of the target, in the same order; by filter, in the order of creation.',
        }),
        matchedCount: t.int({
          description: 'Number of instances of your account that the target names or matches, each counted once.',
          resolve: ({ items }) => new Set(items.flatMap(({ instance }) => instance?.id ?? [])).size,
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

/** What the client asks of the instances of a bulk command's outcomes. */
export function itemSelectionOf(context: Context, info: GraphQLResolveInfo, success: string): { id: true } {
  return selectionOf(context, info, { of: [{ type: success, name: 'items' }, { name: 'instance' }] })
}

/** Adds the current state of its instance to each plan. The ids of the instances need no read. */
export async function loadBulkItems(
  context: Context,
  plans: ItemPlan[],
  operation: 'instances.update' | 'instances.destroy',
  select: { id: true },
): Promise<BulkOutcome> {
  const { services, actor } = context
  const ids = [...new Set(plans.flatMap(plan => (isFound(plan) ? [plan.id] : [])))]
  const isIdAlone = Object.keys(select).length === 1
  const instances = isIdAlone ? ids.map(id => ({ id })) : await services.instances.byIds(actor, ids, select, operation)
  const found = new Map(instances.map(instance => [instance.id, instance]))
  return { items: plans.map((plan, index) => ({ ...plan, index, instance: found.get(plan.id) ?? null })) }
}

function isFound(plan: ItemPlan): boolean {
  return plan.outcome !== 'failed' || plan.error.code !== 'NOT_FOUND'
}
