import { blocksOf, type GpuModel, type Machine, type MarketMachine } from '../machines/machines.ts'
import { diskPricePerHour, divideRounded, usdToNumber } from '../money.ts'

export const defaultDiskMb = 8_000

/** Beyond this many, the matches of a search are not counted. */
export const maxCounted = 10_000

export const rentalKinds = ['onDemand', 'interruptible'] as const
export type RentalKind = (typeof rentalKinds)[number]

/** What the price of an offer depends on. */
export type Pricing = { rentalKind: RentalKind; diskMb: number }
export const defaultPricing: Pricing = { rentalKind: 'onDemand', diskMb: defaultDiskMb }

export const maxDiskGb = 100_000

/** Converts GB to MB, at 1,000 MB a GB. Undefined if the size is negative or above `maxDiskGb`. */
export function diskMbOf(diskGb: number): number | undefined {
  return diskGb >= 0 && diskGb <= maxDiskGb ? Math.round(diskGb * 1_000) : undefined
}

/** A block of a machine's GPUs on the market. Rates are nano-dollars per hour. */
export type OfferBlock = {
  id: bigint
  machineId: number
  firstGpu: number
  numGpus: number
  gpuModelId: number
  /** The price of the GPUs on demand, whatever the terms of a search. */
  gpuPriceNanos: bigint
  minBidNanos: bigint
  dlperf: number
  score: number
  /** As it is stored: the market lets the block be rented. Stays true when the listing ends: see `isRentable`. */
  rentable: boolean
  listedAt: Date
}

/** An offer at an instant: the block and its machine. */
export type OfferFacts = OfferBlock & { machine: Machine & { gpuModel: GpuModel }; asOf: Date }
/** An offer with its price for the given terms. */
export type Offer = Priced<OfferFacts>

/** An offer can be rented while its block is available and its host still lists the machine. */
export function isRentable(offer: { rentable: boolean; machine: { listedUntil: Date }; asOf: Date }): boolean {
  return offer.rentable && offer.machine.listedUntil > offer.asOf
}

/** On the terms of the pricing, in nano-dollars per hour. */
type Price = { gpuPriceNanos: bigint; diskNanos: bigint; totalNanos: bigint; perGpuNanos: bigint }

/**
 * The price of a rental: GPUs plus disk. An interruptible rental is priced at the minimum bid. `diskPricePerGbMonthNanos` is the
 * machine's price of disk, in nano-dollars per GB per month.
 */
export function priceOf(
  offer: { gpuPriceNanos: bigint; minBidNanos: bigint; numGpus: number },
  diskPricePerGbMonthNanos: bigint,
  pricing: Pricing,
): Price {
  const gpuPriceNanos = pricing.rentalKind === 'onDemand' ? offer.gpuPriceNanos : offer.minBidNanos
  const diskNanos = diskPricePerHour(diskPricePerGbMonthNanos, pricing.diskMb)
  const totalNanos = gpuPriceNanos + diskNanos
  return { gpuPriceNanos, diskNanos, totalNanos, perGpuNanos: divideRounded(totalNanos, BigInt(offer.numGpus)) }
}

export type Priced<Facts> = Facts & { pricing: Pricing; price: Price }

type PriceFacts = Pick<OfferBlock, 'gpuPriceNanos' | 'minBidNanos' | 'numGpus'> & {
  machine: Pick<Machine, 'diskPricePerGbMonthNanos'>
}

/** The offer with its price for these terms. */
export function priceOffer<Facts extends PriceFacts>(offer: Facts, pricing: Pricing): Priced<Facts> {
  return { ...offer, pricing, price: priceOf(offer, offer.machine.diskPricePerGbMonthNanos, pricing) }
}

/** A block to list, priced as if no GPU of the machine were rented. `planOffers` replaces the prices of bids. */
export type Listing = {
  firstGpu: number
  numGpus: number
  gpuPriceNanos: bigint
  priceNanos: bigint
  minBidNanos: bigint
  bidPriceNanos: bigint
  dlperf: number
  score: number
}

/** Every block of a machine, priced as if none of its GPUs were rented. */
export function listBlocks(machine: MarketMachine): Listing[] {
  const diskNanos = diskPricePerHour(machine.diskPricePerGbMonthNanos, defaultDiskMb)
  return blocksOf(machine.numGpus).map(({ firstGpu, numGpus }) => {
    const count = BigInt(numGpus)
    const gpuPriceNanos = machine.gpuNanos * count
    const priceNanos = gpuPriceNanos + diskNanos
    const minBidNanos = machine.minBidGpuNanos * count
    const dlperf = machine.dlperfPerGpu * numGpus
    const score = scoreOf(dlperf, priceNanos, machine.reliability)
    return {
      firstGpu,
      numGpus,
      gpuPriceNanos,
      priceNanos,
      minBidNanos,
      bidPriceNanos: minBidNanos + diskNanos,
      dlperf,
      score,
    }
  })
}

/**
 * Performance per dollar times reliability. For an offer, the dollars are its on-demand price with the default disk; for
 * an instance, they are the price that its renter pays.
 */
export function scoreOf(dlperf: number, priceNanos: bigint, reliability: number): number {
  return (dlperf / usdToNumber(priceNanos)) * reliability
}

/** The minimum bid of a block, and that bid with a disk of the default size. */
export function bidPricesOf(
  { diskPricePerGbMonthNanos }: Pick<Machine, 'diskPricePerGbMonthNanos'>,
  minBidNanos: bigint,
): { minBidNanos: bigint; bidPriceNanos: bigint } {
  return { minBidNanos, bidPriceNanos: minBidNanos + diskPricePerHour(diskPricePerGbMonthNanos, defaultDiskMb) }
}
