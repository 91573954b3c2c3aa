import type { InstanceFilter as Filter } from '../../domain/instances/page.ts'
import { maxIdsPerFilter } from '../../domain/instances/page.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { parseId } from '../ids.ts'
import { OrderDirection } from '../inputs/order.ts'
import { permissionSentence } from '../permission.ts'
import { Instance } from './instances.ts'
import { InstanceStatus, type StatusWithDestroyed, TargetState } from './status.ts'

const InstanceFilter = builder.inputType('InstanceFilter', {
  description: 'Which instances are wanted: those for which every part holds that is given.',
  fields: t => ({
    ids: t.idList({ description: `Those with these ids, at most ${maxIdsPerFilter}.` }),
    label: t.string({ description: 'Those with exactly this label.' }),
    status: t.field({ type: [InstanceStatus], description: 'Those in one of these.' }),
    targetState: t.field({ type: TargetState, description: 'Those of which this is wished.' }),
    gpuName: t.string({ description: 'Those with this GPU, in any case of letters.' }),
    idempotencyKey: t.string({
      description: 'What was rented with this idempotency key, if the answer was lost.',
    }),
  }),
})

const InstanceOrderField = builder.enumType('InstanceOrderField', {
  description: 'What instances are ordered by.',
  values: {
    CREATED_AT: { value: 'createdAt', description: 'When they were rented.' },
    PRICE_PER_HOUR: { value: 'pricePerHour', description: 'What they cost while they run.' },
    LABEL: { value: 'label', description: 'What they are called. Those without a label come first.' },
  } as const,
})

const InstanceOrder = builder.inputType('InstanceOrder', {
  description: 'An order of instances. What it leaves equal is ordered by age.',
  fields: t => ({
    field: t.field({ type: InstanceOrderField, required: true, defaultValue: 'createdAt', description: 'By what.' }),
    direction: t.field({ type: OrderDirection, required: true, defaultValue: 'desc', description: 'Which end first.' }),
  }),
})

builder.queryField('instances', t =>
  t.connection(
    {
      type: Instance,
      description: `The account's instances that were not destroyed. ${permissionSentence('instances.list')}`,
      complexity: pageComplexity,
      args: {
        filter: t.arg({ type: InstanceFilter, description: 'Which are wanted. All of them, when absent.' }),
        orderBy: t.arg({
          type: InstanceOrder,
          required: true,
          defaultValue: { field: 'createdAt', direction: 'desc' },
          description: 'In which order. The newest first, when absent.',
        }),
      },
      resolve: async (_root, { filter, orderBy, ...page }, { services, actor }) => {
        const search = { filter: parseInstanceFilter(filter ?? {}), order: orderBy }
        return { search, ...connectionOf(await services.instances.page(actor, search, page)) }
      },
    },
    {
      name: 'InstanceConnection',
      description: 'A page of instances.',
      fields: t => ({
        totalCount: t.int({
          description: 'How many match, on all pages. It is counted only when asked for.',
          resolve: ({ search }, _args, { services, actor }) => services.instances.count(actor, search),
        }),
      }),
    },
    { name: 'InstanceEdge', description: 'An instance, and where it stands in this order.' },
  ),
)

function parseInstanceFilter({
  ids,
  label,
  status,
  targetState,
  gpuName,
  idempotencyKey,
}: typeof InstanceFilter.$inferInput): Filter {
  return {
    ids: ids?.map((id, index) => parseId('Instance', String(id), `filter.ids.${index}`)),
    label: label ?? undefined,
    // Destroyed ones are in no list.
    status: status?.filter((one): one is Exclude<StatusWithDestroyed, 'destroyed'> => one !== 'destroyed'),
    targetState: targetState ?? undefined,
    gpuName: gpuName ?? undefined,
    idempotencyKey: idempotencyKey ?? undefined,
  }
}
