// Who is granted the GPUs of a machine, and what of it is then on the market. Both follow from the claims alone, so
// whatever changes a claim, and in whatever order, the same question gives the answer anew.

import { bidPricesOf, defaultDiskMb, type Listing, listBlocks } from '../offers/offers.ts'
import type { Block, Machine } from './machines.ts'

/** An instance that wants its GPUs. */
export type Claim = Block & {
  instanceId: bigint
  interruptible: boolean
  /** What it pays for the GPUs per hour, all of them. */
  computeNanos: bigint
  claimedAt: Date
  /** Whether it has them now. */
  hasGpus: boolean
}

/** The claims that are granted: on demand before bids, and nobody on demand loses what he has. */
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
  const first = a.interruptible ? comparePricePerGpu(b, a) : Number(b.hasGpus) - Number(a.hasGpus)
  return first || a.claimedAt.getTime() - b.claimedAt.getTime() || (a.instanceId < b.instanceId ? -1 : 1)
}

/** By the price of one GPU, without dividing. */
function comparePricePerGpu(a: Claim, b: Claim): number {
  const difference = a.computeNanos * BigInt(b.numGpus) - b.computeNanos * BigInt(a.numGpus)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** An offer that is on the market, as far as a machine's rentals change it. */
export type CurrentOffer = Block & { id: bigint; computeNanos: bigint } & OfferState
/** How an offer stands: whether it can be rented, from which bid on, and whether it shows its bundle. */
type OfferState = {
  rentable: boolean
  minBidNanos: bigint
  bidPriceNanos: bigint
  leads: boolean
  leadsBids: boolean
}

/** A bid must pass the one that it displaces by this: 0.001 $ an hour. */
const bidStepNanos = 1_000_000n

/**
 * The offers of a machine after its GPUs were granted: those that stand differently now, and the free blocks that are
 * to be listed anew, because the id that they had is used up.
 */
export function planOffers(
  machine: Machine,
  offers: CurrentOffer[],
  granted: Claim[],
): { changed: CurrentOffer[]; added: (Listing & OfferState)[] } {
  // The least disk that a rental can have. What is drained takes nothing new, and lists nothing new.
  const hasRoom = machine.freeDiskMb >= defaultDiskMb && machine.drainedAt === null && machine.unconfirmedAt === null
  const blocks = listBlocks(machine).map(listing => {
    const rivals = granted.filter(claim => overlaps(claim, listing))
    const rentable = hasRoom && rivals.every(({ interruptible }) => interruptible)
    const before = offers.find(offer => offer.firstGpu === listing.firstGpu && offer.numGpus === listing.numGpus)
    return { before, listing: { ...listing, ...bidPricesOf(machine, calculateBidAbove(listing, rivals)), rentable } }
  })
  // The oldest offer of a bundle leads it, and what is listed now comes last.
  const ages = (a: (typeof blocks)[number], b: (typeof blocks)[number]) =>
    a.before && b.before ? Number(a.before.id - b.before.id) : Number(!a.before) - Number(!b.before)
  const listed = blocks.filter(({ before, listing }) => before || listing.rentable).sort(ages)
  const all = listed.map(({ before, listing }, index) => {
    const older = listed.slice(0, index).map(other => other.listing)
    const bundle = older.filter(other => other.numGpus === listing.numGpus && other.rentable === listing.rentable)
    const leads = bundle.length === 0
    const leadsBids = bundle.every(other => other.minBidNanos !== listing.minBidNanos)
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
 * The bid with which an instance has its GPUs, whatever it bids now and whether it wants them. Undefined while a rental
 * on demand has some of them, which no bid displaces.
 */
export function calculateMinimumBid(
  own: Block & { instanceId: bigint },
  { minBidGpuNanos }: Pick<Machine, 'minBidGpuNanos'>,
  claims: Claim[],
): bigint | undefined {
  // Those who have the GPUs without it. Whoever else waits for them waits for these too, and comes after.
  const others = selectGranted(claims.filter(({ instanceId }) => instanceId !== own.instanceId))
  const rivals = others.filter(claim => overlaps(claim, own))
  if (rivals.some(({ interruptible }) => !interruptible)) return undefined
  return calculateBidAbove({ numGpus: own.numGpus, minBidNanos: minBidGpuNanos * BigInt(own.numGpus) }, rivals)
}

/** At least the host's floor and, while others run at bids, a step above the highest of them per GPU. */
function calculateBidAbove(
  { numGpus, minBidNanos }: Pick<Listing, 'numGpus' | 'minBidNanos'>,
  rivals: Claim[],
): bigint {
  const count = BigInt(numGpus)
  const bids = rivals.filter(({ interruptible }) => interruptible)
  const toBeat = bids.map(bid => {
    const all = bid.computeNanos * count
    const gpus = BigInt(bid.numGpus)
    return (all + gpus - 1n) / gpus + bidStepNanos
  })
  return toBeat.reduce((most, bid) => (bid > most ? bid : most), minBidNanos)
}

function offerStateOf({ rentable, minBidNanos, bidPriceNanos, leads, leadsBids }: OfferState): OfferState {
  return { rentable, minBidNanos, bidPriceNanos, leads, leadsBids }
}

function isSameState(a: OfferState, b: OfferState): boolean {
  const [before, after] = [Object.values(offerStateOf(a)), Object.values(offerStateOf(b))]
  return before.every((value, index) => value === after[index])
}
