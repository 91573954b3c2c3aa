import { describe, expect, it } from 'vitest'
import {
  type Claim,
  calculateMinimumBid,
  overlaps,
  planOffers,
  selectGranted,
} from '../../../src/domain/machines/market.ts'
import { aClaim, aListedMachine, createMarket } from '../../support/instances/claims.ts'

const idsOf = (claims: Claim[]) => claims.map(({ instanceId }) => instanceId)
const [first, second] = [{ instanceId: 1n }, { instanceId: 2n }]
const [early, late] = [new Date(1), new Date(2)]
const bid = (gpuPriceNanos: bigint) => ({ interruptible: true, gpuPriceNanos })

describe('the market', () => {
  it.each<[string, Partial<Claim>, Partial<Claim>]>([
    ['an on-demand claim before any bid', { claimedAt: late }, { ...bid(9_000_000_000n), claimedAt: early }],
    ['an on-demand holder before an older on-demand claim', { claimedAt: late, holdsGpus: true }, { claimedAt: early }],
    ['a waiting on-demand claim before a bid that holds the GPUs', {}, { ...bid(9_000_000_000n), holdsGpus: true }],
    ['the older of two on-demand claims', { claimedAt: early }, { claimedAt: late }],
    ['the higher bid', { ...bid(300n), claimedAt: late }, { ...bid(200n), claimedAt: early, holdsGpus: true }],
    ['the higher bid per GPU', bid(300n), { ...bid(598n), numGpus: 2 }],
    [
      'the earlier of equal bids per GPU',
      { ...bid(300n), claimedAt: early },
      { ...bid(600n), numGpus: 2, claimedAt: late },
    ],
    ['the lower id of equal claims', bid(300n), bid(300n)],
  ])('grants %s', (_, winner, loser) => {
    const claims = [aClaim({ ...first, ...winner }), aClaim({ ...second, ...loser })]
    expect(idsOf(selectGranted(claims))).toEqual([1n])
    expect(idsOf(selectGranted(claims.toReversed()))).toEqual([1n])
  })

  it('lets a smaller rental overtake a larger one that waits', () => {
    const holder = aClaim({ instanceId: 1n, firstGpu: 0, holdsGpus: true })
    const large = aClaim({ instanceId: 2n, firstGpu: 0, numGpus: 4, claimedAt: early })
    const small = aClaim({ instanceId: 3n, firstGpu: 1, claimedAt: late })
    expect(idsOf(selectGranted([holder, large, small]))).toEqual([1n, 3n])
  })

  it('grants a lower bid when the higher one is displaced on another GPU', () => {
    const onDemand = aClaim({ instanceId: 1n, firstGpu: 0 })
    const high = aClaim({ instanceId: 2n, firstGpu: 0, numGpus: 2, ...bid(900n) })
    const low = aClaim({ instanceId: 3n, firstGpu: 1, ...bid(100n) })
    expect(idsOf(selectGranted([high, low]))).toEqual([2n])
    expect(idsOf(selectGranted([onDemand, high, low]))).toEqual([1n, 3n])
  })

  it('grants nothing without claims', () => {
    expect(selectGranted([])).toEqual([])
  })

  it('tells adjacent blocks from overlapping ones', () => {
    expect(overlaps({ firstGpu: 0, numGpus: 2 }, { firstGpu: 2, numGpus: 2 })).toBe(false)
    expect(overlaps({ firstGpu: 0, numGpus: 4 }, { firstGpu: 2, numGpus: 1 })).toBe(true)
  })
})

describe('the minimum bid', () => {
  const machine = { minBidGpuNanos: 200_000_000n }
  const own = { instanceId: 9n, firstGpu: 0, numGpus: 2 }
  const low = aClaim({ instanceId: 1n, firstGpu: 0, ...bid(250_000_000n) })
  const high = aClaim({ instanceId: 2n, firstGpu: 1, ...bid(300_000_000n) })

  it('is the minimum of the host without rivals, whatever the bid of the renter', () => {
    expect(calculateMinimumBid(own, machine, [])).toBe(400_000_000n)
    expect(calculateMinimumBid(own, machine, [aClaim({ ...own, ...bid(900_000_000n), holdsGpus: true })])).toBe(
      400_000_000n,
    )
    expect(calculateMinimumBid(own, machine, [aClaim({ instanceId: 1n, firstGpu: 2 })])).toBe(400_000_000n)
  })

  it('is a step above the highest rival bid per GPU, whether or not the rival holds the GPUs now', () => {
    expect(calculateMinimumBid(own, machine, [low, high])).toBe(601_000_000n)
    const mine = aClaim({ ...own, ...bid(900_000_000n), holdsGpus: true })
    expect(calculateMinimumBid(own, machine, [mine, low, high])).toBe(601_000_000n)
  })

  it('ignores a claim that waits for other instances', () => {
    const wide = aClaim({ instanceId: 3n, firstGpu: 0, numGpus: 4, ...bid(1_000_000_000n) })
    expect(calculateMinimumBid(own, machine, [low, high, wide])).toBe(601_000_000n)
  })

  it('does not exist while one of the GPUs is rented on demand', () => {
    expect(calculateMinimumBid(own, machine, [aClaim({ instanceId: 1n, firstGpu: 1 }), low])).toBeUndefined()
  })
})

describe('a plan of offers', () => {
  const machine = aListedMachine({ numGpus: 4 })
  const single = { firstGpu: 0, numGpus: 1 }

  it('lists every block of an empty machine, one of each size as the leader', () => {
    const { changed, added } = planOffers(machine, [], [])
    expect(changed).toEqual([])
    expect(added.map(({ firstGpu, numGpus }) => [firstGpu, numGpus])).toEqual([
      [0, 4],
      ...[0, 1, 2, 3].map(gpu => [gpu, 1]),
      ...[0, 2].map(gpu => [gpu, 2]),
    ])
    expect(added.every(({ rentable }) => rentable)).toBe(true)
    const leaders = added.filter(({ leads }) => leads).map(({ firstGpu, numGpus }) => [firstGpu, numGpus])
    expect(leaders).toEqual([
      [0, 4],
      [0, 1],
      [0, 2],
    ])
  })

  it('makes offers that overlap an on-demand rental not rentable, and no other offers', () => {
    const market = createMarket(machine)
    market.update([])
    market.update([aClaim({ firstGpu: 1 })])
    const gone = market.offers().filter(({ rentable }) => !rentable)
    expect(gone.map(({ firstGpu, numGpus }) => [firstGpu, numGpus])).toEqual([
      [0, 4],
      [1, 1],
      [0, 2],
    ])
  })

  it('lists a block under a new id once it is free again', () => {
    const market = createMarket(machine)
    market.update([])
    const index = market.offers().findIndex(({ firstGpu, numGpus }) => firstGpu === 0 && numGpus === 1)
    market.withdraw(index)
    expect(market.update([aClaim(single)]).added).toEqual([])
    const { added } = market.update([])
    expect(added).toMatchObject([{ ...single, rentable: true, leads: false, leadsBids: false }])
  })

  it('sets the minimum bid a step above the highest rival bid per GPU', () => {
    const bids = [
      aClaim({ instanceId: 1n, firstGpu: 0, ...bid(250_000_000n) }),
      aClaim({ instanceId: 2n, firstGpu: 2, numGpus: 2, ...bid(700_000_001n) }),
    ]
    const leastFor = (firstGpu: number, numGpus: number) =>
      planOffers(machine, [], bids).added.find(block => block.firstGpu === firstGpu && block.numGpus === numGpus)
        ?.minBidNanos
    expect(leastFor(0, 1)).toBe(251_000_000n)
    // The minimum of the host, without rivals.
    expect(leastFor(1, 1)).toBe(200_000_000n)
    // Half of an odd sum is rounded up, so that the minimum bid always wins.
    expect(leastFor(2, 1)).toBe(351_000_001n)
    expect(leastFor(0, 4)).toBe(1_401_000_002n)
  })

  it('is empty when nothing has changed', () => {
    const market = createMarket(machine)
    const granted = [aClaim(single), aClaim({ instanceId: 2n, firstGpu: 2, numGpus: 2, ...bid(900_000_000n) })]
    market.update(granted)
    expect(market.update(granted)).toEqual({ changed: [], added: [] })
  })
})
