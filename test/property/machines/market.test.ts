import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blocksOf } from '../../../src/domain/machines/machines.ts'
import { type Claim, calculateMinimumBid, selectGranted } from '../../../src/domain/machines/market.ts'
import { diskPricePerHour } from '../../../src/domain/money.ts'
import {
  aListedMachine,
  arbitraryClaims,
  createMarket,
  expectedGrants,
  gpusOf,
  sharesGpu,
} from '../../support/instances/claims.ts'
import { aMarketModel, gpuCounts, marketHistories } from '../../support/machines/market-model.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 500)
const timeout = 20_000 + 100 * numRuns
const machines = gpuCounts.chain(numGpus => arbitraryClaims(numGpus).map(claims => ({ numGpus, claims })))

const idsOf = (claims: Claim[]) => claims.map(({ instanceId }) => instanceId).sort()

describe('the market', () => {
  it(
    'grants claims by the rules, regardless of their order',
    () => {
      const shuffled = machines.chain(({ claims }) =>
        fc.tuple(fc.constant(claims), fc.shuffledSubarray(claims, { minLength: claims.length })),
      )
      const property = fc.property(shuffled, ([claims, mixed]) => {
        const expected = idsOf(expectedGrants(claims))
        expect(idsOf(selectGranted(claims))).toEqual(expected)
        expect(idsOf(selectGranted(mixed))).toEqual(expected)
      })
      fc.assert(property, { seed, numRuns })
    },
    timeout,
  )

  it(
    'grants no GPU twice, grants every claim that fits, and never takes GPUs from an on-demand holder',
    () => {
      const property = fc.property(machines, ({ claims }) => {
        const granted = selectGranted(claims)
        const gpus = granted.flatMap(gpusOf)
        expect(new Set(gpus).size).toBe(gpus.length)
        for (const claim of claims) {
          if (!granted.includes(claim)) expect(granted.some(other => sharesGpu(claim, other))).toBe(true)
          if (claim.holdsGpus && !claim.interruptible) expect(granted).toContain(claim)
        }
      })
      fc.assert(property, { seed, numRuns })
    },
    timeout,
  )

  it(
    'grants the same claims again after it granted them',
    () => {
      const property = fc.property(machines, ({ claims }) => {
        const granted = selectGranted(claims)
        const after = claims.map(claim => ({ ...claim, holdsGpus: granted.includes(claim) }))
        expect(idsOf(selectGranted(after))).toEqual(idsOf(granted))
      })
      fc.assert(property, { seed, numRuns })
    },
    timeout,
  )
})

describe('a history of rentals', () => {
  it(
    'leaves every GPU with the holder that the rules choose, after every rental, start, stop, bid and end',
    () => {
      const property = fc.property(marketHistories(40), ({ actions, numGpus }) => {
        const model = aMarketModel(numGpus)
        let holders = new Set<bigint>()
        for (const [index, action] of actions.entries()) {
          if (action.kind !== 'rent') model.apply(action)
          else if (model.isRentable(action.block)) model.rent(BigInt(index), action)
          // Uses the holders of the last grant, not the holders of the model.
          const claims = model.claims().map(claim => ({ ...claim, holdsGpus: holders.has(claim.instanceId) }))
          const granted = selectGranted(claims)
          holders = new Set(granted.map(({ instanceId }) => instanceId))
          const held = new Set(model.holders().filter(holder => holder !== null))
          expect([...holders].sort()).toEqual([...held].sort())
        }
      })
      fc.assert(property, { seed, numRuns })
    },
    timeout,
  )

  /** The same claims in two orders. On-demand claims keep their order, because the first of them gets the GPUs. */
  const arrivals = gpuCounts.chain(arbitraryClaims).chain(claims => {
    const orders = fc.shuffledSubarray(claims, { minLength: claims.length })
    const inTurn = orders.map(order => {
      const onDemand = claims.filter(({ interruptible }) => !interruptible)
      return order.map(claim => (claim.interruptible ? claim : (onDemand.shift() as Claim)))
    })
    return fc.tuple(inTurn, inTurn)
  })

  function arriving(claims: Claim[]): bigint[] {
    let there: Claim[] = []
    for (const claim of claims) {
      there.push({ ...claim, holdsGpus: false })
      const granted = selectGranted(there)
      there = there.map(each => ({ ...each, holdsGpus: granted.includes(each) }))
    }
    return idsOf(there.filter(({ holdsGpus }) => holdsGpus))
  }

  it(
    'ends with the same holders, regardless of the order of the bids',
    () => {
      const property = fc.property(arrivals, ([one, other]) => {
        expect(arriving(one)).toEqual(arriving(other))
      })
      fc.assert(property, { seed, numRuns })
    },
    timeout,
  )
})

describe('the minimum bid', () => {
  it(
    'wins the GPUs; if there is no minimum bid, no bid wins them',
    () => {
      const property = fc.property(machines, fc.nat(), ({ claims }, pick) => {
        const own = claims.filter(({ interruptible }) => interruptible)
        if (own.length === 0) return
        const mine = own[pick % own.length] as Claim
        const others = claims.filter(claim => claim !== mine)
        const bid = calculateMinimumBid(mine, { minBidGpuNanos: 200_000_000n }, claims)
        const claimedAt = new Date(1_000)
        const wins = (gpuPriceNanos: bigint) => {
          const claim = { ...mine, gpuPriceNanos, claimedAt }
          return expectedGrants([...others, claim]).includes(claim)
        }
        expect(wins(bid ?? 2n ** 60n)).toBe(bid !== undefined)
        // One nano-dollar more than a step lower, the bid loses, unless the host's minimum decides.
        if (bid !== undefined && bid > 200_000_000n * BigInt(mine.numGpus)) expect(wins(bid - 1_000_001n)).toBe(false)
      })
      fc.assert(property, { seed, numRuns })
    },
    timeout,
  )
})

/** The history of a machine: claims come and go, and offers are rented. */
const histories = gpuCounts.chain(numGpus =>
  fc.record({
    numGpus: fc.constant(numGpus),
    turns: fc.array(fc.record({ claims: arbitraryClaims(numGpus), used: fc.option(fc.nat(), { nil: undefined }) }), {
      maxLength: 6,
    }),
  }),
)

describe('a plan of offers', () => {
  it(
    'leaves one offer for every rentable block, by the rules, and is empty when repeated',
    () => {
      const property = fc.property(histories, ({ numGpus, turns }) => {
        const market = createMarket(aListedMachine({ numGpus, diskPricePerGbMonthNanos: 123_456_789n }))
        market.update([])
        for (const { claims, used } of turns) {
          const granted = selectGranted(claims)
          if (used !== undefined && market.offers().length > 0) market.withdraw(used % market.offers().length)
          market.update(granted)
          checkOffers(numGpus, market.offers(), granted)
          expect(market.update(granted)).toEqual({ changed: [], added: [] })
        }
      })
      fc.assert(property, { seed, numRuns: numRuns / 2 })
    },
    timeout,
  )
})

type Offers = ReturnType<ReturnType<typeof createMarket>['offers']>

function checkOffers(numGpus: number, offers: Offers, granted: Claim[]): void {
  for (const block of blocksOf(numGpus)) {
    const blockOffers = offers.filter(offer => offer.firstGpu === block.firstGpu && offer.numGpus === block.numGpus)
    const rivals = granted.filter(claim => sharesGpu(claim, block))
    const rentable = rivals.every(({ interruptible }) => interruptible)
    expect(blockOffers.length).toBeLessThanOrEqual(1)
    if (rentable) expect(blockOffers).toHaveLength(1)
    for (const offer of blockOffers) {
      expect(offer.rentable).toBe(rentable)
      expect(offer.minBidNanos).toBe(leastBid(block.numGpus, rivals))
      expect(offer.bidPriceNanos).toBe(offer.minBidNanos + diskPricePerHour(123_456_789n, 8_000))
    }
  }
  for (const offer of offers) {
    const bundle = offers.filter(
      other =>
        other.numGpus === offer.numGpus &&
        other.rentable === offer.rentable &&
        other.gpuPriceNanos === offer.gpuPriceNanos,
    )
    const equalBids = bundle.filter(other => other.minBidNanos === offer.minBidNanos)
    expect(offer.leads).toBe(bundle.every(({ id }) => id >= offer.id))
    expect(offer.leadsBids).toBe(equalBids.every(({ id }) => id >= offer.id))
  }
}

/** The minimum of the host, or a step above the highest rival bid per GPU for all GPUs of the block, rounded up. */
function leastBid(numGpus: number, rivals: Claim[]): bigint {
  const count = BigInt(numGpus)
  let least = 200_000_000n * count
  for (const { interruptible, gpuPriceNanos, numGpus: gpus } of rivals) {
    if (!interruptible) continue
    let toMatch = 0n
    const step = 2n ** 40n
    for (let size = step; size > 0n; size /= 2n) {
      while ((toMatch + size) * BigInt(gpus) < gpuPriceNanos * count) toMatch += size
    }
    const toBeat = toMatch + 1n + 1_000_000n
    if (toBeat > least) least = toBeat
  }
  return least
}
