import { cpuCoresEffectiveOf, offerFields, tflopsOf } from '../../domain/offers/fields.ts'
import { isRentable, priceOffer } from '../../domain/offers/offers.ts'
import { builder } from '../builder.ts'
import { parseId, printId } from '../ids.ts'
import { createSelectedLoader } from '../loader.ts'
import { GpuModel } from '../machines/gpu-models.ts'
import '../machines/machines.ts'
import { Node } from '../nodes/node.ts'
import { selectionOf } from '../selection.ts'
import { OfferPrice, OfferPricingInput, parsePricing } from './price.ts'

const ofMachine = <const Select>(select: Select) => ({ machine: { select } })
const ofModel = <const Select>(select: Select) => ({ machine: { select: { gpuModel: { select } } } })

export const Offer = builder.prismaObject('Offer', {
  select: { id: true },
  description:
    "A block of a machine's GPUs with a price. Each offer ID is rented at most once; afterwards the block is offered under a new ID.",
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'ID of the offer, such as `off_42`.', resolve: ({ id }) => printId('Offer', id) }),
    machine: t.relation('machine', { description: 'Machine that contains the GPUs.' }),
    gpu: t.field({
      type: GpuModel,
      description: 'Model of the GPUs in the offer.',
      select: (_args, _context, nestedSelection) => ({ machine: { select: { gpuModel: nestedSelection() } } }),
      resolve: ({ machine }) => machine.gpuModel,
    }),
    gpuName: t.string({
      description: 'Name of the GPU model, such as "RTX 4090".',
      select: ofModel({ name: true }),
      resolve: ({ machine }) => machine.gpuModel.name,
    }),
    numGpus: t.exposeInt('numGpus', { description: 'Number of GPUs in the offer.' }),
    gpuFraction: t.float({
      description: "Share of the machine's GPUs that the offer contains, 0 to 1.",
      select: { numGpus: true, machine: { select: { numGpus: true } } },
      resolve: ({ numGpus, machine }) => numGpus / machine.numGpus,
    }),
    gpuRamMb: t.int({
      description: 'Memory of one GPU in MB.',
      select: ofModel({ ramMb: true }),
      resolve: ({ machine }) => machine.gpuModel.ramMb,
    }),
    gpuRamGb: t.int({
      description: 'Memory of one GPU in GB as its maker states it: 24 for a card that reports 24,564 MB.',
      select: ofModel({ ramMb: true }),
      resolve: offerFields.gpuRamGb.read,
    }),
    gpuTotalRamMb: t.int({
      description: 'Memory of all GPUs in the offer, in MB.',
      select: { numGpus: true, ...ofModel({ ramMb: true }) },
      resolve: offerFields.gpuTotalRamMb.read,
    }),
    cpuCoresEffective: t.float({
      description: 'Number of virtual cores that come with the GPUs.',
      select: { numGpus: true, machine: { select: { numGpus: true, cpuCores: true } } },
      resolve: cpuCoresEffectiveOf,
    }),

    price: t.field({
      type: OfferPrice,
      description:
        'What a rental costs. Depends on the `pricing` of this field alone, not on the `pricing` that a search compares by: give the same to both.',
      args: {
        pricing: t.arg({
          type: OfferPricingInput,
          description: 'Rental terms and disk size to price the offer for. Defaults to on demand with 8 GB.',
        }),
      },
      select: {
        numGpus: true,
        gpuPriceNanos: true,
        minBidNanos: true,
        dlperf: true,
        machine: { select: { diskPricePerGbMonthNanos: true, gpuModel: { select: { tflops: true } } } },
      },
      resolve: (offer, { pricing }) => priceOffer(offer, parsePricing(pricing)),
    }),
    minimumBidPerHour: t.expose('minBidNanos', {
      type: 'Usd',
      description: 'Lowest bid for all GPUs of the offer that would win them now, in US dollars per hour.',
    }),

    diskPricePerGbMonth: t.field({
      type: 'Usd',
      description: 'Price of one GB of disk for 720 hours, in US dollars.',
      select: ofMachine({ diskPricePerGbMonthNanos: true }),
      resolve: ({ machine }) => machine.diskPricePerGbMonthNanos,
    }),
    downloadPricePerGb: t.field({
      type: 'Usd',
      description: 'Price of one GB downloaded, in US dollars.',
      select: ofMachine({ downloadPricePerGbNanos: true }),
      resolve: ({ machine }) => machine.downloadPricePerGbNanos,
    }),
    uploadPricePerGb: t.field({
      type: 'Usd',
      description: 'Price of one GB uploaded, in US dollars.',
      select: ofMachine({ uploadPricePerGbNanos: true }),
      resolve: ({ machine }) => machine.uploadPricePerGbNanos,
    }),

    tflops: t.float({
      description: 'Single-precision TFLOPS of all GPUs in the offer.',
      select: { numGpus: true, ...ofModel({ tflops: true }) },
      resolve: tflopsOf,
    }),
    dlperf: t.exposeFloat('dlperf', { description: 'Deep learning performance score of all GPUs in the offer.' }),
    score: t.exposeFloat('score', {
      description:
        'Performance per dollar, on demand with a disk of 8 GB, multiplied by reliability. Higher is better.',
    }),

    rentable: t.boolean({
      description: 'Whether the offer could be rented at the time `asOf`.',
      select: { rentable: true, asOf: true, ...ofMachine({ listedUntil: true }) },
      resolve: isRentable,
    }),
    maxDiskGb: t.float({
      description: 'Largest disk that a rental of the offer can have, in GB.',
      select: ofMachine({ freeDiskMb: true }),
      resolve: ({ machine }) => machine.freeDiskMb / 1000,
    }),
    listedUntil: t.field({
      type: 'DateTime',
      description: 'Latest end of a rental: the machine leaves the market then.',
      select: ofMachine({ listedUntil: true }),
      resolve: ({ machine }) => machine.listedUntil,
    }),
    listedAt: t.expose('listedAt', { type: 'DateTime', description: 'When the offer was listed under this ID.' }),
    asOf: t.field({
      type: 'DateTime',
      description: 'When the data of the offer was read. The market may have changed since.',
      select: { asOf: true },
      resolve: ({ asOf }) => asOf,
    }),
  }),
})

export const offerById = createSelectedLoader((context, ids: readonly bigint[], select) =>
  context.services.offers.byIds(context.actor, ids, select),
)

builder.queryField('offer', t =>
  t.field({
    type: Offer,
    nullable: true,
    description: 'An offer by ID. Null when it is no longer on the market, unless your account rented it.',
    requires: 'offers.get',
    args: { id: t.arg.id({ required: true, description: 'ID of the offer, such as `off_42` or `42`.' }) },
    resolve: (_root, { id }, context, info) =>
      offerById(context, selectionOf(context, info)).load(parseId('Offer', id)),
  }),
)
