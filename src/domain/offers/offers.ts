import { blocksOf, type GpuModel, type Machine } from '../machines/machines.ts'
import { diskPricePerHour, divideRounded, usdToNumber } from '../money.ts'

export const defaultDiskMb = 8_000

export const rentalTypes = ['onDemand', 'interruptible'] as const
export type RentalType = (typeof rentalTypes)[number]

/** What a price is asked for. The same block has another price for another disk, and another as a bid. */
export type Pricing = { type: RentalType; diskMb: number }
export const defaultPricing: Pricing = { type: 'onDemand', diskMb: defaultDiskMb }

export const maxDiskGb = 100_000

/** Disks are counted in MB, thousandths of a GB. Undefined for a size that no disk has. */
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
  computeNanos: bigint
  minBidNanos: bigint
  dlperf: number
  score: number
  rentable: boolean
  listedAt: Date
}

/** An offer as its readers see it at an instant: the block, what it is made of, and its price. */
export type Offer = OfferBlock & {
  machine: Machine & { gpuModel: GpuModel }
  pricing: Pricing
  price: Price
  asOf: Date
}

/** A block can be rented while it is free and its host still lists it. */
export function isRentable(offer: { rentable: boolean; machine: { listedUntil: Date }; asOf: Date }): boolean {
  return offer.rentable && offer.machine.listedUntil > offer.asOf
}

/** Nano-dollars per hour. */
type Price = { computeNanos: bigint; diskNanos: bigint; totalNanos: bigint; perGpuNanos: bigint }

/** What a rental with these terms costs: the GPUs, at their price or at the least bid that wins them, and the disk. */
export function priceOf(
  offer: { computeNanos: bigint; minBidNanos: bigint; numGpus: number },
  storageNanos: bigint,
  pricing: Pricing,
): Price {
  const computeNanos = pricing.type === 'onDemand' ? offer.computeNanos : offer.minBidNanos
  const diskNanos = diskPricePerHour(storageNanos, pricing.diskMb)
  const totalNanos = computeNanos + diskNanos
  return { computeNanos, diskNanos, totalNanos, perGpuNanos: divideRounded(totalNanos, BigInt(offer.numGpus)) }
}

/** A block about to be listed: everything of the offer's row that its rivals have no say in. */
export type Listing = {
  firstGpu: number
  numGpus: number
  computeNanos: bigint
  priceNanos: bigint
  minBidNanos: bigint
  bidPriceNanos: bigint
  dlperf: number
  score: number
}

/** Every block of a machine, priced as if nobody rented any of it. */
export function listBlocks(machine: Machine): Listing[] {
  return blocksOf(machine.numGpus).map(({ firstGpu, numGpus }) => {
    const computeNanos = machine.gpuNanos * BigInt(numGpus)
    const priceNanos = computeNanos + diskPricePerHour(machine.storageNanos, defaultDiskMb)
    const dlperf = machine.dlperfPerGpu * numGpus
    return {
      firstGpu,
      numGpus,
      computeNanos,
      priceNanos,
      ...bidPricesOf(machine, machine.minBidGpuNanos * BigInt(numGpus)),
      dlperf,
      score: scoreOf(dlperf, priceNanos, machine.reliability),
    }
  })
}

/** Performance per dollar times reliability. */
export function scoreOf(dlperf: number, priceNanos: bigint, reliability: number): number {
  return (dlperf / usdToNumber(priceNanos)) * reliability
}

/** The least bid that wins a block, and that bid with a disk of the default size. */
export function bidPricesOf(
  { storageNanos }: Machine,
  minBidNanos: bigint,
): { minBidNanos: bigint; bidPriceNanos: bigint } {
  return { minBidNanos, bidPriceNanos: minBidNanos + diskPricePerHour(storageNanos, defaultDiskMb) }
}
