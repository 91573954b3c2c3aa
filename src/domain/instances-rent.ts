import { DomainError, type Issue, invalidInput } from './errors.ts'
import type { PortBinding } from './instances.ts'
import type { Launch, LaunchWish } from './launch.ts'
import { settleLaunch } from './launch-merge.ts'
import type { Machine } from './machines.ts'
import { diskRate, printUsd } from './money.ts'
import { isRentable, type OfferBlock } from './offers.ts'

/** How the price is agreed: the host's, at most so much if the renter says so, or a bid for the whole block. */
export type RentalTerms =
  | { interruptible: false; maxPriceNanos?: bigint | undefined }
  | { interruptible: true; bidNanos: bigint }

export type RentWish = {
  offerId: bigint
  terms: RentalTerms
  launch: LaunchWish
  /** The hash of a template to begin with. */
  templateHash?: string | undefined
  /** Refuse what could not start at once, instead of letting it wait. */
  cancelUnavailable: boolean
}

/** Per hour, 0.001 $ to 128 $. */
export const bidRange = { least: 1_000_000n, most: 128_000_000_000n }

/** What can be said of a wish before anything is looked up: all of it, or an error that names everything wrong. */
export function checkRent({ terms, launch: wish }: RentWish): Launch {
  const { launch, issues } = settleLaunch(undefined, wish)
  const all: Issue[] = [...issues]
  if (terms.interruptible && (terms.bidNanos < bidRange.least || terms.bidNanos > bidRange.most)) {
    const [least, most, bid] = [bidRange.least, bidRange.most, terms.bidNanos].map(printUsd)
    all.push({ path: 'bid', message: `must be from ${least} to ${most} dollars an hour, not ${bid}.` })
  }
  if (all.length > 0 || !launch) throw invalidInput(all)
  return launch
}

/** An offer as the renting transaction finds it. */
export type RentedOffer = Pick<OfferBlock, 'id' | 'computeNanos' | 'minBidNanos' | 'rentable' | 'numGpus' | 'firstGpu'>

/** What the GPUs cost per hour under these terms. Undefined where the offer can't be rented under them. */
export function agree(
  offer: RentedOffer,
  machine: Machine,
  { terms }: RentWish,
  launch: Launch,
  at: Date,
): bigint | undefined {
  if (!isRentable({ ...offer, machine, asOf: at })) return undefined
  if (!terms.interruptible) {
    const total = offer.computeNanos + diskRate(machine.storageNanos, launch.diskMb)
    if (terms.maxPriceNanos !== undefined && total > terms.maxPriceNanos) {
      const message = `The offer costs ${printUsd(total)} $ an hour, more than ${printUsd(terms.maxPriceNanos)} $.`
      throw new DomainError('PRICE_CHANGED', message, { currentPriceNanos: total })
    }
    return offer.computeNanos
  }
  const floor = machine.minBidGpuNanos * BigInt(offer.numGpus)
  if (terms.bidNanos < floor) {
    const message = `The host accepts no bid under ${printUsd(floor)} $ an hour for these GPUs.`
    throw new DomainError('BID_TOO_LOW', message, { minimumBidNanos: floor })
  }
  return terms.bidNanos
}

/** What the machine lacks for this launch. */
export function lacksOf(machine: Machine, launch: Launch): Issue[] {
  const issues: Issue[] = []
  if (launch.diskMb > machine.freeDiskMb) {
    issues.push({
      path: 'diskGb',
      message: `must be at most ${machine.freeDiskMb / 1000}, what this machine has free.`,
    })
  }
  if (launch.ports.length > machine.freePorts) {
    issues.push({ path: 'ports', message: `must be at most ${machine.freePorts}, what this machine has free.` })
  }
  if (launch.vm && !machine.vmsEnabled) issues.push({ path: 'vm', message: 'is not offered by this machine.' })
  return issues
}

/** A public port for each of the wished ones: the same number where it is free, else the lowest that is. */
export function choosePorts(
  { firstPort, lastPort }: Machine,
  taken: ReadonlySet<number>,
  wishes: Launch['ports'],
): PortBinding[] {
  const used = new Set(taken)
  const isFree = (port: number) => port >= firstPort && port <= lastPort && !used.has(port)
  const take = (wish: number) => {
    let port = isFree(wish) ? wish : firstPort
    while (!isFree(port)) {
      if (port > lastPort)
        throw new Error(`More ports are counted as free than there are, from ${firstPort} to ${lastPort}.`)
      port += 1
    }
    used.add(port)
    return port
  }
  return wishes.map(({ hostPort, containerPort, protocol }) => ({ hostPort: take(hostPort), containerPort, protocol }))
}
