import type {
  VolumeOfferCondition,
  VolumeOfferField,
  VolumeOffer as VolumeOfferShape,
} from '../../domain/volumes/offers.ts'
import { volumeSizeGb } from '../../domain/volumes/volumes.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { printId } from '../ids.ts'
import { FloatFilter, StringFilter, UsdFilter } from '../inputs/filters.ts'
import { OrderDirection } from '../inputs/order.ts'
import { createLoader } from '../loader.ts'
import { Machine } from '../machines/machines.ts'
import { Node } from '../nodes/node.ts'
import { parseConditions } from '../offers/filter.ts'
import { permissionSentence } from '../permission.ts'

export const VolumeOffer = builder.objectRef<VolumeOfferShape>('VolumeOffer').implement({
  description: "A machine's free disk on the market. Its id is the machine's, and stays.",
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'Starts with `vof_`.', resolve: ({ id }) => printId('VolumeOffer', id) }),
    machine: t.field({ type: Machine, description: 'The machine.', resolve: ({ machine }) => machine }),
    sizeGb: t.float({ description: 'The size that the price is for, in GB.', resolve: ({ sizeMb }) => sizeMb / 1000 }),
    pricePerHour: t.expose('priceNanos', { type: 'Usd', description: 'What a volume of this size costs.' }),
    storagePerGbMonth: t.field({
      type: 'Usd',
      description: 'A GB for 720 hours.',
      resolve: ({ machine }) => machine.storageNanos,
    }),
    maxSizeGb: t.float({
      description: 'The largest volume that fits, in GB.',
      resolve: ({ machine }) => machine.freeDiskMb / 1000,
    }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'When all this was so.' }),
  }),
})

export const volumeOfferById = createLoader((context, ids: readonly number[]) =>
  context.services.volumes.offersByIds(context.actor, ids),
)

// The names are those of domain/volumes/offers.ts, which the reader goes by.
type Filter = { [Field in VolumeOfferField]?: unknown }
const VolumeOfferFilter = builder.inputRef<Filter>('VolumeOfferFilter').implement({
  description: 'Which storage is wanted. Every field that is given must hold; null and absent fields say nothing.',
  fields: t => ({
    machineId: t.id({ description: 'Of this machine, such as `mch_42`, or `42`.' }),
    gpuName: t.field({ type: StringFilter, description: 'GPU model of the machine, such as "RTX 4090".' }),
    country: t.field({ type: StringFilter, description: 'Where the machine stands: ISO 3166, two letters.' }),
    verified: t.boolean({ description: 'Whether the machine is verified.' }),
    datacenter: t.boolean({ description: 'Whether the machine stands in a data center.' }),
    reliability: t.field({
      type: FloatFilter,
      description: 'Share of the time that the machine kept its promises, 0 to 1.',
    }),
    diskMbps: t.field({ type: FloatFilter, description: 'Read bandwidth of the disk in MB/s.' }),
    storagePerGbMonth: t.field({ type: UsdFilter, description: 'Price of a GB for 720 hours.' }),
  }),
})

const VolumeOfferOrderField = builder.enumType('VolumeOfferOrderField', {
  description: 'What storage is ordered by.',
  values: {
    PRICE_PER_HOUR: { value: 'price', description: 'What a volume costs.' },
    RELIABILITY: { value: 'reliability', description: 'Reliability of the machine.' },
    MAX_SIZE: { value: 'freeDisk', description: 'The largest volume that fits.' },
  } as const,
})

const VolumeOfferOrder = builder.inputType('VolumeOfferOrder', {
  description: 'An order of storage. What it leaves equal is ordered by machine.',
  fields: t => ({
    field: t.field({ type: VolumeOfferOrderField, required: true, defaultValue: 'price', description: 'By what.' }),
    direction: t.field({ type: OrderDirection, required: true, defaultValue: 'asc', description: 'Which end first.' }),
  }),
})

builder.queryField('volumeOffers', t =>
  t.connection(
    {
      type: VolumeOffer,
      description: `Searches the market for storage that a volume of the size fits in. ${permissionSentence('volumes.search')}`,
      complexity: pageComplexity,
      args: {
        filter: t.arg({ type: VolumeOfferFilter, description: 'Which is wanted. All of it, when absent.' }),
        sizeGb: t.arg.float({
          required: true,
          defaultValue: volumeSizeGb.least,
          description: 'The size that must fit, and that prices are for, in GB.',
        }),
        orderBy: t.arg({
          type: VolumeOfferOrder,
          required: true,
          defaultValue: { field: 'price', direction: 'asc' },
          description: 'In which order. The cheapest first, when absent.',
        }),
      },
      resolve: async (_root, { filter, sizeGb, orderBy, ...page }, { services, actor }) => {
        // The filter of this query has no field that storage lacks.
        const conditions = parseConditions(filter ?? {}) as VolumeOfferCondition[]
        const search = { conditions, sizeGb, order: orderBy }
        return { search, ...connectionOf(await services.volumes.pageOffers(actor, search, page)) }
      },
    },
    {
      name: 'VolumeOfferConnection',
      description: 'A page of storage.',
      fields: t => ({
        totalCount: t.int({
          description: 'How many match, on all pages. It is counted only when asked for.',
          resolve: ({ search }, _args, { services, actor }) => services.volumes.countOffers(actor, search),
        }),
      }),
    },
    { name: 'VolumeOfferEdge', description: 'Storage of a machine, and where it stands in this order.' },
  ),
)
