// Decides which claims get the GPUs of a machine, and which offers the machine has then. Both depend on the current
// claims alone, so every change of a claim is followed by the same recomputation.

import { bidPricesOf, defaultDiskMb, type Listing, listBlocks } from '../offers/offers.ts'
import type { Block, MarketMachine } from './machines.ts'

/** The claim of an instance that wants its GPUs. */
export type Claim = Block & {
  instanceId: bigint
  interruptible: boolean
  /** Nano-dollars per hour for all GPUs of the claim. */
  gpuPriceNanos: bigint
  claimedAt: Date
  /** Whether the instance holds its GPUs now. */
  holdsGpus: boolean
}

/** Selects the claims to grant. On-demand claims come before bids, and an on-demand rental never loses its GPUs. */
export function selectGranted(claims: Claim[]): Claim[] {
  const granted: Claim[] = []
  for (const claim of claims.toSorted(comparePrecedence)) {
    if (!granted.some(other => overlaps(claim, other))) granted.push(claim)
  }
  return granted
}

export function overlaps(a: Block, b: Block): boolean {
  return a.firstGpu < b.firstGpu + b.numGpus && b.firstGpu < a.firstGpu + a.numGpus
}

function comparePrecedence(a: Claim, b: Claim): number {
  if (a.interruptible !== b.interruptible) return a.interruptible ? 1 : -1
  const first = a.interruptible ? comparePricePerGpu(b, a) : Number(b.holdsGpus) - Number(a.holdsGpus)
  return first || a.claimedAt.getTime() - b.claimedAt.getTime() || (a.instanceId < b.instanceId ? -1 : 1)
}

/** Compares by the price per GPU. Multiplies instead of dividing, so that nothing is rounded. */
function comparePricePerGpu(a: Claim, b: Claim): number {
  const difference = a.gpuPriceNanos * BigInt(b.numGpus) - b.gpuPriceNanos * BigInt(a.numGpus)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** An offer that is on the market, with the fields that rentals of its machine change. */
export type CurrentOffer = Block & { id: bigint; gpuPriceNanos: bigint } & OfferState
/** Whether an offer can be rented, its minimum bid, and whether searches show it for its bundle. */
type OfferState = {
  rentable: boolean
  minBidNanos: bigint
  bidPriceNanos: bigint
  leads: boolean
  leadsBids: boolean
}

/** A bid must exceed the bid that it displaces by this much: $0.001 per hour. */
const bidStepNanos = 1_000_000n

/**
 * Plans the offers of a machine after its GPUs were granted: the offers whose state changed, and new offers for free
 * blocks. A rental uses up the id of its offer, so its block gets a new offer when it is free again.
 */
export function planOffers(
  machine: MarketMachine,
  offers: CurrentOffer[],
  granted: Claim[],
): { changed: CurrentOffer[]; added: (Listing & OfferState)[] } {
  // The default disk is also the smallest. A drained or unconfirmed machine takes no rentals and lists no new offers.
  const hasRoom = machine.freeDiskMb >= defaultDiskMb && machine.drainedAt === null && machine.unconfirmedAt === null
  const blocks = listBlocks(machine).map(listing => {
    const rivals = granted.filter(claim => overlaps(claim, listing))
    const rentable = hasRoom && rivals.every(({ interruptible }) => interruptible)
    const before = offers.find(offer => offer.firstGpu === listing.firstGpu && offer.numGpus === listing.numGpus)
    return { before, listing: { ...listing, ...bidPricesOf(machine, calculateBidAbove(listing, rivals)), rentable } }
  })
  // The oldest offer leads its bundle, so new offers come last.
  const compareAges = (a: (typeof blocks)[number], b: (typeof blocks)[number]) =>
    a.before && b.before ? Number(a.before.id - b.before.id) : Number(!a.before) - Number(!b.before)
  const listed = blocks.filter(({ before, listing }) => before || listing.rentable).sort(compareAges)
  const bundles = new Set<string>()
  const bidBundles = new Set<string>()
  const all = listed.map(({ before, listing }) => {
    const bundle = `${listing.numGpus} ${listing.rentable}`
    const leads = addNew(bundles, bundle)
    const leadsBids = addNew(bidBundles, `${bundle} ${listing.minBidNanos}`)
    return { before, after: { ...listing, leads, leadsBids } }
  })
  return {
    changed: all.flatMap(({ before, after }) =>
      before && !isSameState(before, after) ? [{ ...before, ...offerStateOf(after) }] : [],
    ),
    added: all.flatMap(({ before, after }) => (before ? [] : [after])),
  }
}

/**
 * The lowest bid that wins an instance its GPUs now, independent of its own bid and target state. Undefined while an
 * on-demand rental holds one of the GPUs, because no bid displaces it.
 */
export function calculateMinimumBid(
  own: Block & { instanceId: bigint },
  { minBidGpuNanos }: Pick<MarketMachine, 'minBidGpuNanos'>,
  claims: Claim[],
): bigint | undefined {
  // The claims that are granted without this instance. Every other waiting claim ranks below these.
  const others = selectGranted(claims.filter(({ instanceId }) => instanceId !== own.instanceId))
  const rivals = others.filter(claim => overlaps(claim, own))
  if (rivals.some(({ interruptible }) => !interruptible)) return undefined
  return calculateBidAbove({ numGpus: own.numGpus, minBidNanos: minBidGpuNanos * BigInt(own.numGpus) }, rivals)
}

/** The host's minimum bid or, if it is more, one step above the highest rival bid per GPU. */
function calculateBidAbove(
  { numGpus, minBidNanos }: Pick<Listing, 'numGpus' | 'minBidNanos'>,
  rivals: Claim[],
): bigint {
  const count = BigInt(numGpus)
  const bids = rivals.filter(({ interruptible }) => interruptible)
  const toBeat = bids.map(bid => {
    const all = bid.gpuPriceNanos * count
    const gpus = BigInt(bid.numGpus)
    return (all + gpus - 1n) / gpus + bidStepNanos
  })
  return toBeat.reduce((most, bid) => (bid > most ? bid : most), minBidNanos)
}

function offerStateOf({ rentable, minBidNanos, bidPriceNanos, leads, leadsBids }: OfferState): OfferState {
  return { rentable, minBidNanos, bidPriceNanos, leads, leadsBids }
}

function isSameState(a: OfferState, b: OfferState): boolean {
  const isSameBid = a.minBidNanos === b.minBidNanos && a.bidPriceNanos === b.bidPriceNanos
  return isSameBid && a.rentable === b.rentable && a.leads === b.leads && a.leadsBids === b.leadsBids
}

/** Adds the text to the set. False if the set has it already. */
function addNew(set: Set<string>, text: string): boolean {
  const size = set.size
  return set.add(text).size > size
}
