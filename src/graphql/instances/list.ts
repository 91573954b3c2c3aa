import type { InstanceFilter as Filter } from '../../domain/instances/page.ts'
import { maxIdsPerFilter } from '../../domain/instances/page.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { OrderDirection } from '../filters.ts'
import { parseId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'
import { Instance } from './instances.ts'
import { InstanceStatus, type StatusWithDestroyed, TargetState } from './status.ts'

const InstanceFilter = builder.inputType('InstanceFilter', {
  description: 'Conditions for instances. All given fields must match; null and absent fields match every instance.',
  fields: t => ({
    ids: t.idList({ description: `IDs of the instances, at most ${maxIdsPerFilter}.` }),
    label: t.string({ description: 'Exact label of the instance, case-sensitive.' }),
    status: t.field({
      type: [InstanceStatus],
      description: 'The status is one of these. Destroyed instances are never listed.',
    }),
    targetState: t.field({ type: TargetState, description: 'Desired state of the instance.' }),
    gpuName: t.string({ description: 'Name of the GPU model, case-insensitive.' }),
    idempotencyKey: t.string({
      description: 'Idempotency key of the rent request. Finds the instance after its response was lost.',
    }),
  }),
})

const InstanceOrderField = builder.enumType('InstanceOrderField', {
  description: 'Fields that instances can be sorted by.',
  values: {
    CREATED_AT: { value: 'createdAt', description: 'Time when the instance was rented.' },
    PRICE_PER_HOUR: { value: 'pricePerHour', description: 'Price per hour while the instance runs.' },
    LABEL: { value: 'label', description: 'Label of the instance. A missing label sorts as an empty text.' },
  } as const,
})

const InstanceOrder = builder.inputType('InstanceOrder', {
  description: 'Sort order for instances. Ties are sorted by creation time in the same direction.',
  fields: t => ({
    field: t.field({
      type: InstanceOrderField,
      required: true,
      defaultValue: 'createdAt',
      description: 'Field to sort by. Defaults to `CREATED_AT`.',
    }),
    direction: t.field({
      type: OrderDirection,
      required: true,
      defaultValue: 'desc',
      description: 'Sort direction. Defaults to `DESC`.',
    }),
  }),
})

builder.queryField('instances', t =>
  t.connection(
    {
      type: Instance,
      description: `Lists the instances of your account that are not destroyed. ${permissionSentence('instances.list')}`,
      complexity: pageComplexity,
      args: {
        filter: t.arg({ type: InstanceFilter, description: 'Instances to list. Defaults to all.' }),
        orderBy: t.arg({
          type: InstanceOrder,
          required: true,
          defaultValue: { field: 'createdAt', direction: 'desc' },
          description: 'Sort order. Defaults to newest first.',
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
          description: 'Number of matching instances on all pages. Counted only when this field is requested.',
          resolve: ({ search }, _args, { services, actor }) => services.instances.count(actor, search),
        }),
      }),
    },
    { name: 'InstanceEdge', description: 'An instance with its cursor.' },
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
    // The list never contains destroyed instances.
    status: status?.filter((one): one is Exclude<StatusWithDestroyed, 'destroyed'> => one !== 'destroyed'),
    targetState: targetState ?? undefined,
    gpuName: gpuName ?? undefined,
    idempotencyKey: idempotencyKey ?? undefined,
  }
}
