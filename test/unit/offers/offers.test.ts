import { describe, expect, it } from 'vitest'
import type { Machine } from '../../../src/domain/machines/machines.ts'
import { diskMbOf, listBlocks, priceOf } from '../../../src/domain/offers/offers.ts'
import { aMachine } from '../../support/factories.ts'

const offer = { gpuPriceNanos: 400_000_000n, minBidNanos: 200_000_000n, numGpus: 3 }

describe('a price', () => {
  it('is the sum of the GPUs and the requested disk', () => {
    expect(priceOf(offer, 360_000_000n, { rentalKind: 'onDemand', diskMb: 32_000 })).toEqual({
      gpuPriceNanos: 400_000_000n,
      diskNanos: 16_000_000n,
      totalNanos: 416_000_000n,
      perGpuNanos: 138_666_667n,
    })
  })

  it('of an interruptible rental includes the minimum bid for the GPUs', () => {
    expect(priceOf(offer, 360_000_000n, { rentalKind: 'interruptible', diskMb: 8_000 }).totalNanos).toBe(204_000_000n)
  })
})

describe('a disk size', () => {
  it('is converted to MB, at 1,000 a GB', () => {
    expect(diskMbOf(8)).toBe(8_000)
    expect(diskMbOf(10.5)).toBe(10_500)
    expect(diskMbOf(0)).toBe(0)
    // 1000.9999999999999 and 2007.0000000000002 as floats.
    expect(diskMbOf(1.001)).toBe(1_001)
    expect(diskMbOf(2.007)).toBe(2_007)
    expect(diskMbOf(100_000)).toBe(100_000_000)
  })

  it.each([-1, 100_001, Number.NaN, Number.POSITIVE_INFINITY])('of %d GB is invalid', gb => {
    expect(diskMbOf(gb)).toBeUndefined()
  })
})

describe('a listed machine', () => {
  const machine = { ...aMachine({ numGpus: 4 }), id: 1 } as unknown as Machine
  const listings = listBlocks(machine)

  it('offers each of its blocks at the price of its GPUs', () => {
    const prices = listings.map(({ numGpus, gpuPriceNanos, minBidNanos }) => ({ numGpus, gpuPriceNanos, minBidNanos }))
    expect(prices).toContainEqual({ numGpus: 4, gpuPriceNanos: 1_600_000_000n, minBidNanos: 800_000_000n })
    expect(prices).toContainEqual({ numGpus: 1, gpuPriceNanos: 400_000_000n, minBidNanos: 200_000_000n })
    expect(listings).toHaveLength(7)
  })

  it('has its blocks scored by performance per dollar times reliability', () => {
    const [whole] = listings
    expect(whole?.score).toBeCloseTo((400 / 1.604) * 0.99, 10)
  })
})
