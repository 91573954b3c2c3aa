import { expect, it } from 'vitest'
import { facetOf } from '../../../src/domain/offers/facets.ts'

it('gives a facet the first 100 values, which have the most offers', () => {
  const counted = Array.from({ length: 101 }, (_, index) => ({
    ...{ value: `GPU ${index}`, count: 200 - index, minimumPriceNanos: 1n },
  }))
  expect(facetOf('gpuName', counted)).toEqual({ field: 'gpuName', values: counted.slice(0, 100) })
})
