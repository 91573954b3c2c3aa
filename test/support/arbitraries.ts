import fc from 'fast-check'
import { fieldTypeOf, fieldValueOf, type OfferField, offerFields } from '../../src/domain/offers/fields.ts'
import { type Condition, type OfferFilter, operatorsByType, parseCondition } from '../../src/domain/offers/filter.ts'
import type { Offer, Pricing } from '../../src/domain/offers/offers.ts'
import { rentalKinds } from '../../src/domain/offers/offers.ts'
import type { OrderKey } from '../../src/domain/offers/order.ts'
import type { MachineListing } from './factories.ts'

const gpuModels = [
  { name: 'RTX 4090', ramMb: 24_564, tflops: 82.6 },
  { name: 'H100 SXM', ramMb: 81_559, tflops: 66.9, computeCapability: '9.0' },
  { name: 'RX 7900 XTX', ramMb: 24_560, tflops: 61.4, computeCapability: null, vendor: 'amd' as const },
]

/** Machines that often have equal values, so that ties, bundles and boundaries come up. */
export const listingArbitrary: fc.Arbitrary<MachineListing> = fc.record({
  model: fc.constantFrom(...gpuModels),
  machine: fc.record({
    numGpus: fc.constantFrom(1, 2, 3, 4, 6, 8),
    gpuNanos: fc.constantFrom(100_000_000n, 133_333_333n, 400_000_000n, 400_000_001n),
    minBidGpuNanos: fc.constantFrom(50_000_000n, 99_999_999n),
    diskPricePerGbMonthNanos: fc.constantFrom(0n, 50_000_000n, 123_456_789n, 350_000_000n, 9_000_000_000n),
    reliability: fc.constantFrom(0.8, 0.95, 0.9977, 1),
    verification: fc.constantFrom('verified' as const, 'unverified' as const, 'deverified' as const),
    dlperfPerGpu: fc.constantFrom(13.3, 100, 199.1),
    country: fc.constantFrom('SE', 'US', 'KR'),
    datacenter: fc.boolean(),
    // Spellings of one version, and versions that compare as numbers or as texts in another order.
    cudaVersion: fc.constantFrom(null, '9.2', '12.1', '12.10', '12.8', '12.80', '12', '12.0', '12.8.1'),
    driverVersion: fc.constantFrom('535', '535.86.05', '535.183.06', '565.77', '565.77.00', '6.3.1'),
    osVersion: fc.constantFrom(null, '20.04', '22.04', '22.4', '24.04'),
    cpuCores: fc.constantFrom(16, 48, 127),
    cpuArch: fc.constantFrom('amd64', 'arm64'),
    diskMb: fc.integer({ min: 100_000, max: 100_010 }),
    downloadMbps: fc.constantFrom(100, 558.3, 10_000),
    listedUntil: fc
      .constantFrom('2026-11-21T11:59:59.999Z', '2026-11-22T12:00:00.000Z', '2027-06-01T00:00:00.001Z')
      .map(text => new Date(text)),
  }),
})

export const pricingArbitrary: fc.Arbitrary<Pricing> = fc.record({
  rentalKind: fc.constantFrom(...rentalKinds),
  diskMb: fc.constantFrom(8_000, 8_000, 0, 1, 5_000, 8_001, 100_000, 100_000_000),
})

const fields = Object.keys(offerFields) as OfferField[]

/** Conditions whose operands are values of existing offers: the boundaries of every comparison. */
export function conditionArbitrary(offers: Offer[]): fc.Arbitrary<Condition> {
  const value = (field: OfferField) =>
    fc
      .constantFrom(...offers)
      .map(offer => fieldValueOf(offer, field))
      // No client can name a missing version.
      .map(given => (fieldTypeOf(field) === 'version' && given === '' ? '12.8' : given))
  return fc.constantFrom(...fields).chain(field =>
    fc.constantFrom(...operatorsByType[fieldTypeOf(field)]).chain(operator => {
      const operand = operator === 'in' || operator === 'nin' ? fc.array(value(field), { maxLength: 4 }) : value(field)
      return operand.map(given => parseCondition(field, operator, given) as Condition)
    }),
  )
}

export function filterArbitrary(offers: Offer[]): fc.Arbitrary<OfferFilter> {
  // Short filters are common, since each condition leaves fewer offers to order and page.
  const conditionList = fc.oneof(fc.constant<Condition[]>([]), fc.array(conditionArbitrary(offers), { maxLength: 3 }))
  const { filter } = fc.letrec<{ filter: OfferFilter }>(tie => ({
    filter: fc.record({
      conditions: conditionList,
      anyOf: fc.oneof(
        { maxDepth: 2 },
        { arbitrary: fc.constant<OfferFilter[]>([]), weight: 2 },
        fc.array(tie('filter'), { minLength: 1, maxLength: 3 }),
      ),
    }),
  }))
  return filter
}

const orderableFields = fields.filter(field => fieldTypeOf(field) !== 'boolean')

export const orderArbitrary: fc.Arbitrary<OrderKey[]> = fc.array(
  fc.record({
    // Prices, and fields that are equal for a whole offer kind, have their own ways of ordering, so they come up more
    // often.
    field: fc.oneof(
      fc.constantFrom(...orderableFields),
      fc.constantFrom<OfferField>('pricePerHour', 'pricePerGpuHour', 'tflopsPerDollar', 'numGpus', 'gpuRamMb', 'score'),
    ),
    direction: fc.constantFrom('asc' as const, 'desc' as const),
  }),
  { maxLength: 3 },
)
