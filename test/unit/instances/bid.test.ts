import { describe, expect, it } from 'vitest'
import { type Bidder, bidRange, checkBid, decideBid, winningBid } from '../../../src/domain/instances/bid.ts'

const floor = 400_000_000n
const aBidder = (facts: Partial<Bidder> = {}): Bidder => ({
  ...{
    id: 7n,
    targetState: 'running',
    status: 'running',
    destroyedAt: null,
    interruptible: true,
    gpuPriceNanos: 500_000_000n,
    firstGpu: 0,
    numGpus: 2,
  },
  ...facts,
})

describe('a bid', () => {
  it.each([
    ['$0.001', 1_000_000n],
    ['$128', 128_000_000_000n],
  ])('can be %s', (_, nanos) => {
    expect(checkBid(nanos)).toBeUndefined()
  })

  it.each([
    ['just below the minimum', 999_999n, '0.000999999'],
    ['just above the maximum', 128_000_000_001n, '128.000000001'],
    ['zero', 0n, '0'],
    ['negative', -1_000_000n, '-0.001'],
  ])('cannot be %s', (_, nanos, printed) => {
    const message = `must be from 0.001 to 128 dollars an hour, not ${printed}.`
    expect(checkBid(nanos)).toEqual({ path: 'bid', message })
  })
})

describe('a new bid', () => {
  it.each([
    ['raised', 500_000_001n],
    ['lowered', 499_999_999n],
    ['lowered', floor],
    ['unchanged', 500_000_000n],
  ])('counts as %s at %d nano-dollars an hour', (outcome, bid) => {
    expect(decideBid(aBidder(), floor, bid)).toBe(outcome)
  })

  it('is refused below the floor of the host, with the floor in the error, unless it equals the current bid', () => {
    const refusal = { code: 'BID_TOO_LOW', details: { minimumBidNanos: floor } }
    expect(() => decideBid(aBidder(), floor, floor - 1n)).toThrow(expect.objectContaining(refusal))
    expect(decideBid(aBidder({ gpuPriceNanos: 1n }), floor, 1n)).toBe('unchanged')
  })

  it.each([
    ['an on-demand rental', { interruptible: false }],
    ['a rental that exited', { status: 'exited' as const }],
    ['a rental that is offline', { status: 'offline' as const }],
    ['a rental that is unknown', { status: 'unknown' as const }],
  ])('is refused for %s, before the price is checked', (_, facts) => {
    const cause = 'interruptible' in facts ? 'fixedPrice' : null
    const refusal = { code: 'INVALID_STATE', details: { instanceId: 7n, cause } }
    expect(() => decideBid(aBidder(facts), floor, 1n)).toThrow(expect.objectContaining(refusal))
  })
})

describe('the winning bid', () => {
  it.each([
    [250_000_000n, 250_000_000n],
    [1n, bidRange.min],
    [bidRange.max, bidRange.max],
  ])('is the minimum that wins, but never less than the smallest allowed bid: %d', (least, bid) => {
    expect(winningBid(7n, least)).toBe(bid)
  })

  it.each([undefined, bidRange.max + 1n])('is refused when no allowed bid wins: %s', least => {
    const refusal = { code: 'INVALID_STATE', details: { instanceId: 7n, cause: null } }
    expect(() => winningBid(7n, least)).toThrow(expect.objectContaining(refusal))
  })
})
