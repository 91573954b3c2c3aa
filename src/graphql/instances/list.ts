import { gpuNameConditions } from '../../domain/instances/filter.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { OrderDirection } from '../filters.ts'
import { addSearchHints } from '../offers/search-hints.ts'
import { pageSelectionOf } from '../selection.ts'
import { InstanceFilter, parseInstanceFilter } from './filter.ts'
import { Instance } from './instances.ts'

const InstanceOrderField = builder.enumType('InstanceOrderField', {
  description: 'Fields that instances can be sorted by. New values may be added.',
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
      description:
        'Lists the instances of your account. Destroyed instances are listed only if `filter.ids` or `filter.status` asks for them.',
      requires: 'instances.list',
      complexity: pageComplexity,
      args: {
        filter: t.arg({
          type: InstanceFilter,
          description: 'Instances to list. Absent or null: all that are not destroyed.',
        }),
        orderBy: t.arg({
          type: InstanceOrder,
          required: true,
          defaultValue: { field: 'createdAt', direction: 'desc' },
          description: 'Sort order. Defaults to newest first.',
        }),
      },
      resolve: async (_root, { filter, orderBy, ...page }, context, info) => {
        const search = { filter: parseInstanceFilter(filter ?? {}), order: orderBy }
        const { services, actor } = context
        const result = await services.instances.page(actor, search, page, pageSelectionOf(context, info))
        const conditions = gpuNameConditions(search.filter)
        await addSearchHints(context, info, { input: filter, filter: { conditions, anyOf: [] } })
        return { search, ...connectionOf(result) }
      },
    },
    {
      name: 'InstanceConnection',
      description: 'A page of instances.',
      fields: t => ({
        totalCount: t.int({
          description: 'Exact number of matching instances on all pages. Counted only when this field is requested.',
          resolve: ({ search }, _args, { services, actor }) => services.instances.count(actor, search),
        }),
      }),
    },
    { name: 'InstanceEdge', description: 'An instance with its cursor.' },
  ),
)
