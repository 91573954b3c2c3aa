import type { Region as RegionShape } from '../../domain/machines/regions.ts'
import { maxDiskGb } from '../../domain/offers/offers.ts'
import {
  priceVolume,
  requireVolumeSizeMb,
  type VolumeOfferCondition,
  type VolumeOfferField,
  type VolumeOfferPrice as VolumeOfferPriceShape,
} from '../../domain/volumes/offers.ts'
import { volumeSizeGb } from '../../domain/volumes/volumes.ts'
import { authorizeOperation } from '../../services/authorize.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { FloatFilter, IdFilter, OrderDirection, StringFilter, UsdFilter } from '../filters.ts'
import { printId } from '../ids.ts'
import { createSelectedLoader } from '../loader.ts'
import { Machine, Region } from '../machines/machines.ts'
import { Node } from '../nodes/node.ts'
import { parseConditions } from '../offers/parse-filter.ts'
import { addSearchHints } from '../offers/search-hints.ts'
import { pageSelectionOf } from '../selection.ts'

const VolumeOfferPrice = builder.objectRef<VolumeOfferPriceShape>('VolumeOfferPrice').implement({
  description: 'What a volume of one size costs on a machine.',
  fields: t => ({
    sizeGb: t.float({
      description: 'Volume size that the price is for, in GB.',
      resolve: ({ sizeMb }) => sizeMb / 1000,
    }),
    pricePerHour: t.expose('priceNanos', {
      type: 'Usd',
      description: 'Price per hour of the volume until it is deleted, in US dollars.',
    }),
  }),
})

export const VolumeOffer = builder.prismaObject('Machine', {
  variant: 'VolumeOffer',
  select: { id: true },
  description: 'Free disk space of a machine on the market. Its ID has the number of the machine and never changes.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the volume offer, such as `vof_42`.',
      resolve: ({ id }) => printId('VolumeOffer', id),
    }),
    machine: t.variant(Machine, { description: 'The machine that offers the disk space.' }),
    price: t.field({
      type: VolumeOfferPrice,
      description: 'What a volume costs. Depends on the `sizeGb` of this field alone, not on the `sizeGb` of a search.',
      args: {
        sizeGb: t.arg.float({
          required: true,
          defaultValue: volumeSizeGb.least,
          description: `Size of the volume in GB, ${volumeSizeGb.least} to ${maxDiskGb}. Defaults to ${volumeSizeGb.least}.`,
        }),
      },
      select: { diskPricePerGbMonthNanos: true },
      resolve: (offer, { sizeGb }) => priceVolume(offer, requireVolumeSizeMb(sizeGb)),
    }),
    diskPricePerGbMonth: t.expose('diskPricePerGbMonthNanos', {
      type: 'Usd',
      description: 'Price of one GB for 720 hours, in US dollars.',
    }),
    maxSizeGb: t.float({
      description: 'Largest volume that fits, in GB.',
      select: { freeDiskMb: true },
      resolve: ({ freeDiskMb }) => freeDiskMb / 1000,
    }),
    asOf: t.expose('asOf', {
      type: 'DateTime',
      description: 'When the data of the offer was read. The market may have changed since.',
    }),
  }),
})

export const volumeOfferById = createSelectedLoader(({ services, actor }, ids: readonly number[], select) =>
  services.volumes.offersByIds(actor, ids, select),
)

// The fields are some of VolumeOfferField, with its names, because parseConditions takes the names from the input.
type Filter = { [Field in VolumeOfferField]?: unknown } & { region?: RegionShape[] | null | undefined }
const VolumeOfferFilter = builder.inputRef<Filter>('VolumeOfferFilter').implement({
  description: 'Conditions for volume offers. All given fields must match; null and absent fields match every offer.',
  fields: t => ({
    machineId: t.field({ type: IdFilter, description: 'ID of the machine, such as `mch_42` or `42`.' }),
    hostId: t.field({ type: IdFilter, description: 'ID of the host of the machine, such as `hst_42` or `42`.' }),
    gpuName: t.field({ type: StringFilter, description: 'Name of the GPU model in the machine, such as "RTX 4090".' }),
    country: t.field({ type: StringFilter, description: 'Country of the machine: two letters, ISO 3166.' }),
    city: t.field({ type: StringFilter, description: 'City of the machine, as its host states it.' }),
    region: t.field({ type: [Region], description: 'Region of the world of the machine: one of these.' }),
    verified: t.boolean({ description: 'Whether the machine is verified.' }),
    datacenter: t.boolean({ description: 'Whether the machine is in a data center.' }),
    reliability: t.field({
      type: FloatFilter,
      description:
        'Reliability of the machine, 0 to 1: what its operator states, lowered by failed starts and by the time without an answer in the last 30 days.',
    }),
    diskReadMegabytesPerSecond: t.field({
      type: FloatFilter,
      description: 'Measured read bandwidth of the disk in MB/s (megabytes).',
    }),
    diskPricePerGbMonth: t.field({ type: UsdFilter, description: 'Price of one GB for 720 hours, in US dollars.' }),
  }),
})

const VolumeOfferOrderField = builder.enumType('VolumeOfferOrderField', {
  description: 'Fields that volume offers can be sorted by. New values may be added.',
  values: {
    PRICE_PER_HOUR: { value: 'price', description: 'Price per hour of a volume. The size does not change the order.' },
    RELIABILITY: { value: 'reliability', description: 'Reliability of the machine.' },
    MAX_SIZE_GB: { value: 'freeDisk', description: 'Largest volume that fits.' },
  } as const,
})

const VolumeOfferOrder = builder.inputType('VolumeOfferOrder', {
  description: 'Sort order for volume offers. Ties are sorted by machine.',
  fields: t => ({
    field: t.field({
      type: VolumeOfferOrderField,
      required: true,
      defaultValue: 'price',
      description: 'Field to sort by. Defaults to `PRICE_PER_HOUR`.',
    }),
    direction: t.field({
      type: OrderDirection,
      required: true,
      defaultValue: 'asc',
      description: 'Sort direction. Defaults to `ASC`.',
    }),
  }),
})

builder.queryField('volumeOffers', t =>
  t.connection(
    {
      type: VolumeOffer,
      description: 'Searches the market for machines with enough free disk space for a volume of `sizeGb`.',
      requires: 'volumes.search',
      complexity: pageComplexity,
      args: {
        filter: t.arg({ type: VolumeOfferFilter, description: 'Volume offers to find. Defaults to all.' }),
        sizeGb: t.arg.float({
          required: true,
          defaultValue: volumeSizeGb.least,
          description: `Size of the volume in GB: it must fit on the machine. Defaults to ${volumeSizeGb.least}.`,
        }),
        orderBy: t.arg({
          type: VolumeOfferOrder,
          required: true,
          defaultValue: { field: 'price', direction: 'asc' },
          description: 'Sort order. Defaults to cheapest first.',
        }),
      },
      resolve: async (_root, { filter, sizeGb, orderBy, ...page }, context, info) => {
        const { services, actor } = context
        authorizeOperation(actor, 'volumes.search')
        // Every field of VolumeOfferFilter is a VolumeOfferField.
        const conditions = parseConditions(filter ?? {}) as VolumeOfferCondition[]
        const search = { conditions, sizeGb, order: orderBy }
        const found = await services.volumes.pageOffers(actor, search, page, pageSelectionOf(context, info))
        await addSearchHints(context, info, { input: filter, filter: { conditions, anyOf: [] } })
        return { search, ...connectionOf(found) }
      },
    },
    {
      name: 'VolumeOfferConnection',
      description: 'A page of volume offers.',
      fields: t => ({
        totalCount: t.int({
          description: 'Number of matching volume offers on all pages. Counted only when this field is requested.',
          resolve: ({ search }, _args, { services, actor }) => services.volumes.countOffers(actor, search),
        }),
      }),
    },
    { name: 'VolumeOfferEdge', description: 'A volume offer with its cursor.' },
  ),
)
