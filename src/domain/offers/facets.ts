// Facets of a search: how many of its offers have each value of a field, and the least price among them.

import { gpuVendors, verifications } from '../machines/machines.ts'
import { regionOf, regions } from '../machines/regions.ts'
import { type OfferField, offerFields } from './fields.ts'

export const facetFields = [
  ...(['gpuName', 'gpuVendor', 'gpuRamGb', 'numGpus', 'country', 'region', 'city'] as const),
  ...(['verification', 'datacenter', 'staticIp', 'vmsEnabled', 'cpuArch'] as const),
]
export type FacetField = (typeof facetFields)[number]

/** The columns to count. Regions are counted as countries. */
export type FacetColumn = Exclude<FacetField, 'region'> & OfferField

/** A price in nano-dollars per hour. */
export type FacetValue = { value: string; count: number; minimumPriceNanos: bigint }
export type Facet = { field: FacetField; values: FacetValue[] }

export const maxFacetValues = 100

const valuesOfEnums = { gpuVendor: gpuVendors, region: regions, verification: verifications }
const isEnumField = (field: FacetField): field is keyof typeof valuesOfEnums => field in valuesOfEnums

/** The largest number of values that a facet of the field can have. */
export function maxValuesOf(field: FacetField): number {
  if (isEnumField(field)) return valuesOfEnums[field].length
  return offerFields[field].type === 'boolean' ? 2 : maxFacetValues
}

/** Enough for all codes of two letters, since the countries of a region may be rare ones. */
export const maxCountedValues = 26 * 26

export function facetColumnOf(field: FacetField): FacetColumn {
  return field === 'region' ? 'country' : field
}

/** The facet of a field, from all counted values of its column. Those with most offers come first. */
export function facetOf(field: FacetField, counted: FacetValue[]): Facet {
  const values = field === 'region' ? mergeRegions(counted) : counted
  return { field, values: values.slice(0, maxFacetValues) }
}

/** Countries that are in no region count for none. */
function mergeRegions(countries: FacetValue[]): FacetValue[] {
  const merged = new Map<string, FacetValue>()
  for (const { value, count, minimumPriceNanos } of countries) {
    const region = regionOf(value)
    if (!region) continue
    const before = merged.get(region)
    const least = before && before.minimumPriceNanos < minimumPriceNanos ? before.minimumPriceNanos : minimumPriceNanos
    merged.set(region, { value: region, count: count + (before?.count ?? 0), minimumPriceNanos: least })
  }
  return [...merged.values()].sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
}
