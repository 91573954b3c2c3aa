import { invalidInput } from '../../domain/errors.ts'
import type { OfferField } from '../../domain/offers/fields.ts'
import { defaultDiskMb, diskMbOf, maxDiskGb, type Pricing } from '../../domain/offers/offers.ts'
import { maxOrderKeys } from '../../domain/offers/order.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { OrderDirection } from '../inputs/order.ts'
import { permissionSentence } from '../permission.ts'
import { OfferFilter, parseOfferFilter } from './filter.ts'
import { Offer, RentalType } from './offers.ts'

export const OfferPricingInput = builder.inputType('OfferPricingInput', {
  description: 'What a price is asked for: the price searched is the price charged.',
  fields: t => ({
    type: t.field({
      type: RentalType,
      required: true,
      defaultValue: 'onDemand',
      description: 'How the price is made.',
    }),
    diskGb: t.float({
      required: true,
      defaultValue: defaultDiskMb / 1000,
      description: 'The disk that goes with the GPUs, in GB.',
    }),
  }),
})

const fields = {
  PRICE_PER_HOUR: { value: 'pricePerHour', description: 'Price of GPUs and disk.' },
  PRICE_PER_GPU_HOUR: { value: 'pricePerGpuHour', description: 'That price, divided by the GPUs.' },
  MINIMUM_BID_PER_HOUR: { value: 'minimumBidPerHour', description: 'The least bid that would win the GPUs now.' },
  SCORE: { value: 'score', description: 'Performance per dollar times reliability.' },
  DLPERF: { value: 'dlperf', description: 'Deep learning performance.' },
  DLPERF_PER_DOLLAR: { value: 'dlperfPerDollar', description: 'Deep learning performance per dollar an hour.' },
  TFLOPS_PER_DOLLAR: { value: 'tflopsPerDollar', description: 'TFLOPS per dollar an hour.' },
  RELIABILITY: { value: 'reliability', description: 'Reliability of the machine.' },
  GPU_MEMORY: { value: 'gpuRamMb', description: 'Memory of one GPU.' },
  GPU_TOTAL_MEMORY: { value: 'gpuTotalRamMb', description: 'Memory of all GPUs.' },
  GPU_COUNT: { value: 'numGpus', description: 'Number of GPUs.' },
  DOWNLOAD: { value: 'downloadMbps', description: 'Download bandwidth.' },
  LISTED_AT: { value: 'id', description: 'How long the offer has been listed.' },
} as const satisfies Record<string, { value: OfferField; description: string }>

const OfferOrderField = builder.enumType('OfferOrderField', {
  description: 'What offers are ordered by.',
  values: fields,
})

export const OfferOrder = builder.inputType('OfferOrder', {
  description: 'One key of an order. What it leaves equal is ordered by the next key, then the cheapest comes first.',
  fields: t => ({
    field: t.field({ type: OfferOrderField, required: true, description: 'What to order by.' }),
    direction: t.field({
      type: OrderDirection,
      required: true,
      defaultValue: 'asc',
      description: 'Which end comes first.',
    }),
  }),
})

export const defaultOrder: (typeof OfferOrder.$inferInput)[] = [{ field: 'pricePerHour', direction: 'asc' }]

builder.queryField('offers', t =>
  t.connection(
    {
      type: Offer,
      description: `Searches the market. Of equal blocks of one machine it shows one. ${permissionSentence('offers.search')}`,
      complexity: pageComplexity,
      args: {
        filter: t.arg({
          type: OfferFilter,
          description: 'Which offers are wanted. Those that can be rented now, when absent.',
        }),
        pricing: t.arg({
          type: OfferPricingInput,
          description: 'What the prices are for. On demand with a disk of 8 GB, when absent.',
        }),
        orderBy: t.arg({
          type: [OfferOrder],
          required: true,
          defaultValue: defaultOrder,
          description: `At most ${maxOrderKeys} keys. The cheapest first, when absent.`,
        }),
      },
      resolve: async (_root, { filter, pricing, orderBy, ...page }, { services, actor }) => {
        const search = {
          filter: parseOfferFilter(filter ?? {}),
          pricing: parsePricing(pricing),
          order: orderBy,
          bundled: true,
        }
        return { search, ...connectionOf(await services.offers.page(actor, search, page)) }
      },
    },
    {
      name: 'OfferConnection',
      description: 'A page of offers.',
      fields: t => ({
        totalCount: t.int({
          description: 'How many offers match, on all pages. It is counted only when asked for.',
          resolve: ({ search }, _args, { services, actor }) => services.offers.count(actor, search),
        }),
      }),
    },
    { name: 'OfferEdge', description: 'An offer, and where it stands in this order.' },
  ),
)

export function parsePricing(pricing: { type: Pricing['type']; diskGb: number } | null | undefined): Pricing {
  const { type, diskGb } = pricing ?? { type: 'onDemand', diskGb: defaultDiskMb / 1000 }
  const diskMb = diskMbOf(diskGb)
  if (diskMb !== undefined) return { type, diskMb }
  const message = `must be from 0 to ${maxDiskGb}, not ${diskGb}.`
  throw invalidInput([{ path: 'pricing.diskGb', message }])
}
