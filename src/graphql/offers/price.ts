import { invalidInput } from '../../domain/errors.ts'
import { offerFields } from '../../domain/offers/fields.ts'
import {
  defaultPricing,
  diskMbOf,
  maxDiskGb,
  type Offer,
  type Pricing,
  type RentalKind as RentalKindShape,
} from '../../domain/offers/offers.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'

export const RentalKind = enumOf<RentalKindShape>(
  'RentalKind',
  'Terms of a rental, which decide its price. New values may be added.',
  {
    onDemand: "The host's price applies. No other renter can take the GPUs away.",
    interruptible:
      'The renter bids, and pays the bid and the disk. A higher bid or an on-demand rental takes the GPUs.',
  },
)

export const OfferPricingInput = builder.inputType('OfferPricingInput', {
  description: 'Rental terms and disk size to price offers for. Interruptible offers are priced at their minimum bid.',
  fields: t => ({
    rentalKind: t.field({
      type: RentalKind,
      required: true,
      defaultValue: defaultPricing.rentalKind,
      description: 'Terms of the rental. Defaults to `ON_DEMAND`.',
    }),
    diskGb: t.float({
      required: true,
      defaultValue: defaultPricing.diskMb / 1000,
      description: `Disk size of the rental in GB, 0 to ${maxDiskGb}. Only prices depend on it: \`maxDiskGb\` of the filter finds offers that can have such a disk. Defaults to ${defaultPricing.diskMb / 1000}.`,
    }),
  }),
})

export function parsePricing(input: typeof OfferPricingInput.$inferInput | null | undefined): Pricing {
  if (!input) return defaultPricing
  const { rentalKind, diskGb } = input
  const diskMb = diskMbOf(diskGb)
  if (diskMb !== undefined) return { rentalKind, diskMb }
  const message = `must be from 0 to ${maxDiskGb}, not ${diskGb}.`
  throw invalidInput([{ path: 'pricing.diskGb', message }])
}

/** What the fields of a price read. */
type PricedOffer = Pick<Offer, 'pricing' | 'price' | 'numGpus' | 'dlperf'> & {
  machine: { gpuModel: { tflops: number } }
}

export const OfferPrice = builder.objectRef<PricedOffer>('OfferPrice').implement({
  description:
    'What a rental of an offer costs for given rental terms and a given disk. Interruptible offers are priced at their minimum bid; a rental with a higher bid costs the bid and the disk.',
  fields: t => ({
    rentalKind: t.field({
      type: RentalKind,
      description: 'Rental terms that the price is for.',
      resolve: ({ pricing }) => pricing.rentalKind,
    }),
    diskGb: t.float({
      description: 'Disk size that the price is for, in GB.',
      resolve: ({ pricing }) => pricing.diskMb / 1000,
    }),
    pricePerHour: t.field({
      type: 'Usd',
      description: 'Price per hour of GPUs and disk while the instance runs, in US dollars.',
      resolve: offerFields.pricePerHour.read,
    }),
    pricePerGpuHour: t.field({
      type: 'Usd',
      description: '`pricePerHour` divided by the number of GPUs, in US dollars.',
      resolve: offerFields.pricePerGpuHour.read,
    }),
    gpuPricePerHour: t.field({
      type: 'Usd',
      description: 'Price per hour of the GPUs while the instance runs, in US dollars.',
      resolve: offerFields.gpuPricePerHour.read,
    }),
    diskPricePerHour: t.field({
      type: 'Usd',
      description: 'Price per hour of the disk, running or stopped, in US dollars.',
      resolve: offerFields.diskPricePerHour.read,
    }),
    tflopsPerDollar: t.float({
      description: 'Single-precision TFLOPS per US dollar of `pricePerHour`.',
      resolve: offerFields.tflopsPerDollar.read,
    }),
    dlperfPerDollar: t.float({
      description: 'Deep learning performance score per US dollar of `pricePerHour`.',
      resolve: offerFields.dlperfPerDollar.read,
    }),
  }),
})
