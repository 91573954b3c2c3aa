import { cpuCoresEffectiveOf, offerFields, tflopsOf } from '../../domain/offers/fields.ts'
import { isRentable, type Offer as OfferShape, type RentalType as Rental } from '../../domain/offers/offers.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { parseId, printId } from '../ids.ts'
import { createLoader } from '../loader.ts'
import { GpuModel } from '../machines/gpu-models.ts'
import { Machine } from '../machines/machines.ts'
import { Node } from '../nodes/node.ts'
import { permissionSentence } from '../permission.ts'

export const RentalType = enumOf<Rental>('RentalType', 'How the price of a rental is made.', {
  onDemand: "At the host's price. Nobody can take the GPUs away.",
  interruptible: 'At a bid. A higher bid, or a rental on demand, stops it.',
})

const PriceBreakdown = builder.objectRef<OfferShape>('PriceBreakdown').implement({
  description: 'What a price is made of.',
  fields: t => ({
    compute: t.field({
      type: 'Usd',
      description: 'The GPUs, per hour while running.',
      resolve: ({ price }) => price.computeNanos,
    }),
    disk: t.field({
      type: 'Usd',
      description: 'The disk, per hour, running or stopped.',
      resolve: ({ price }) => price.diskNanos,
    }),
    diskGb: t.float({
      description: 'The disk that this price is for, in GB.',
      resolve: ({ pricing }) => pricing.diskMb / 1000,
    }),
    storagePerGbMonth: t.field({
      type: 'Usd',
      description: 'A GB of disk for 720 hours.',
      resolve: ({ machine }) => machine.storageNanos,
    }),
    downloadPerGb: t.field({
      type: 'Usd',
      description: 'A GB downloaded.',
      resolve: ({ machine }) => machine.downloadNanos,
    }),
    uploadPerGb: t.field({ type: 'Usd', description: 'A GB uploaded.', resolve: ({ machine }) => machine.uploadNanos }),
  }),
})

export const Offer = builder.objectRef<OfferShape>('Offer').implement({
  description:
    "A block of a machine's GPUs with a price. An id is rented at most once: afterwards the block has a new one.",
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'Starts with `off_`.', resolve: ({ id }) => printId('Offer', id) }),
    machine: t.field({
      type: Machine,
      description: 'The machine that the GPUs are in.',
      resolve: offer => offer.machine,
    }),
    gpu: t.field({ type: GpuModel, description: 'The model of the GPUs.', resolve: ({ machine }) => machine.gpuModel }),
    gpuName: t.string({ description: 'Name of that model.', resolve: ({ machine }) => machine.gpuModel.name }),
    numGpus: t.exposeInt('numGpus', { description: 'GPUs of the block.' }),
    gpuFraction: t.float({
      description: "Share of the machine's GPUs.",
      resolve: ({ numGpus, machine }) => numGpus / machine.numGpus,
    }),
    gpuRamMb: t.int({ description: 'Memory of one GPU in MB.', resolve: ({ machine }) => machine.gpuModel.ramMb }),
    gpuTotalRamMb: t.int({
      description: 'Memory of all GPUs of the block in MB.',
      resolve: offerFields.gpuTotalRamMb.read,
    }),
    cpuCoresEffective: t.float({ description: 'Virtual cores that go with the GPUs.', resolve: cpuCoresEffectiveOf }),

    rentalType: t.field({
      type: RentalType,
      description: 'The terms that the prices are for.',
      resolve: ({ pricing }) => pricing.type,
    }),
    pricePerHour: t.field({
      type: 'Usd',
      description: 'GPUs and disk, per hour while running.',
      resolve: ({ price }) => price.totalNanos,
    }),
    pricePerGpuHour: t.field({
      type: 'Usd',
      description: 'The price per hour, divided by the GPUs.',
      resolve: ({ price }) => price.perGpuNanos,
    }),
    priceBreakdown: t.field({
      type: PriceBreakdown,
      description: 'What the price is made of.',
      resolve: offer => offer,
    }),
    minimumBidPerHour: t.expose('minBidNanos', {
      type: 'Usd',
      description: 'The least bid for the GPUs that would win them now.',
    }),

    tflops: t.float({ description: 'Single precision TFLOPS of the block.', resolve: tflopsOf }),
    tflopsPerDollar: t.float({ description: 'TFLOPS per dollar an hour.', resolve: offerFields.tflopsPerDollar.read }),
    dlperf: t.exposeFloat('dlperf', { description: 'Deep learning performance of the block.' }),
    dlperfPerDollar: t.float({
      description: 'Deep learning performance per dollar an hour.',
      resolve: offerFields.dlperfPerDollar.read,
    }),
    score: t.exposeFloat('score', {
      description: 'Performance per dollar times reliability: the order of searches over REST.',
    }),

    rentable: t.boolean({ description: 'Whether it could be rented at that instant.', resolve: isRentable }),
    maxDiskGb: t.float({
      description: 'The largest disk that a rental can have, in GB.',
      resolve: ({ machine }) => machine.freeDiskMb / 1000,
    }),
    availableUntil: t.field({
      type: 'DateTime',
      description: 'When a rental must end.',
      resolve: ({ machine }) => machine.listedUntil,
    }),
    listedAt: t.expose('listedAt', { type: 'DateTime', description: 'Since when the offer has this id.' }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'When all this was so. The market moves.' }),
  }),
})

export const offerById = createLoader((context, ids: readonly bigint[]) =>
  context.services.offers.byIds(context.actor, ids),
)

builder.queryField('offer', t =>
  t.field({
    type: Offer,
    nullable: true,
    description: `An offer by its id, priced on demand with a disk of 8 GB. Null when it is not on the market any more. ${permissionSentence('offers.get')}`,
    args: { id: t.arg.id({ required: true, description: 'Such as `off_42`, or `42`.' }) },
    resolve: (_root, { id }, context) => offerById(context).load(parseId('Offer', id)),
  }),
)
