import fc from 'fast-check'
import { type Block, blocksOf, type Machine } from '../../../src/domain/machines/machines.ts'
import { type Claim, type CurrentOffer, planOffers } from '../../../src/domain/machines/market.ts'
import { aMachine, type MachineAttributes } from '../factories.ts'

/** A listed machine without rentals. */
export function aListedMachine(facts: Partial<MachineAttributes> = {}): Machine {
  const machine = aMachine(facts)
  const room = { freeDiskMb: machine.diskMb, freePorts: machine.lastPort - machine.firstPort + 1 }
  return {
    ...machine,
    ...room,
    id: 1,
    hostId: 1,
    gpuModelId: 1,
    limitsDisk: true,
    listedAt: new Date(0),
    drainedAt: null,
    unconfirmedAt: null,
    unlistedAt: null,
  }
}

/** An on-demand claim on the first GPU. It has waited since the epoch. */
export function aClaim(facts: Partial<Claim> = {}): Claim {
  const block = { firstGpu: 0, numGpus: 1 }
  const terms = { interruptible: false, gpuPriceNanos: 400_000_000n }
  return { instanceId: 1n, ...block, ...terms, claimedAt: new Date(0), holdsGpus: false, ...facts }
}

export function gpusOf({ firstGpu, numGpus }: Block): number[] {
  return Array.from({ length: numGpus }, (_, index) => firstGpu + index)
}

export function sharesGpu(a: Block, b: Block): boolean {
  return gpusOf(a).some(gpu => gpusOf(b).includes(gpu))
}

/** Claims that often tie, on blocks of a machine. Claims that hold GPUs do not overlap, as the database ensures. */
export function arbitraryClaims(numGpus: number): fc.Arbitrary<Claim[]> {
  const claim = fc.record({
    block: fc.constantFrom(...blocksOf(numGpus)),
    interruptible: fc.boolean(),
    // Thirds and sevenths of a price are equal per GPU only when they are not rounded.
    gpuNanos: fc.constantFrom(200_000_000n, 200_000_001n, 300_000_000n, 333_333_333n),
    extraNanos: fc.constantFrom(0n, 0n, 1n),
    claimedAt: fc.integer({ min: 0, max: 3 }).map(ms => new Date(ms)),
    mayHold: fc.boolean(),
  })
  return fc.array(claim, { maxLength: 20 }).map(drawn => {
    const claims: Claim[] = []
    for (const [index, { block, interruptible, gpuNanos, extraNanos, claimedAt, mayHold }] of drawn.entries()) {
      const holdsGpus = mayHold && !claims.some(other => other.holdsGpus && sharesGpu(other, block))
      const gpuPriceNanos = gpuNanos * BigInt(block.numGpus) + extraNanos
      claims.push({ instanceId: BigInt(index + 1), ...block, interruptible, gpuPriceNanos, claimedAt, holdsGpus })
    }
    return claims
  })
}

/**
 * The precedence rules, written independently of the code. A price times 720,720 is divisible by every number of GPUs
 * up to 16.
 */
function comesBefore(a: Claim, b: Claim): boolean {
  if (!a.interruptible && b.interruptible) return true
  if (a.interruptible && !b.interruptible) return false
  if (!a.interruptible && a.holdsGpus !== b.holdsGpus) return a.holdsGpus
  const perGpu = ({ gpuPriceNanos, numGpus }: Claim) => (gpuPriceNanos * 720_720n) / BigInt(numGpus)
  if (a.interruptible && perGpu(a) !== perGpu(b)) return perGpu(a) > perGpu(b)
  if (a.claimedAt.getTime() !== b.claimedAt.getTime()) return a.claimedAt < b.claimedAt
  return a.instanceId < b.instanceId
}

/** A claim is granted unless a granted claim with precedence shares a GPU with it. */
export function expectedGrants(claims: Claim[]): Claim[] {
  const isGranted = (claim: Claim): boolean =>
    !claims.some(other => other !== claim && sharesGpu(other, claim) && comesBefore(other, claim) && isGranted(other))
  return claims.filter(isGranted)
}

/** The offers of a machine as the database stores them, with ids in the order of listing. */
export function createMarket(machine: Machine) {
  let offers: CurrentOffer[] = []
  let lastId = 0n
  return {
    offers: () => offers,
    /** Withdraws the offer of a block. */
    withdraw(index: number): void {
      offers = offers.filter((_, place) => place !== index)
    },
    update(granted: Claim[]) {
      const { changed, added } = planOffers(machine, offers, granted)
      offers = offers.map(offer => changed.find(({ id }) => id === offer.id) ?? offer)
      for (const listing of added) {
        lastId += 1n
        offers.push({ ...listing, id: lastId })
      }
      return { changed, added }
    },
  }
}
