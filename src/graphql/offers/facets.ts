import {
  type FacetField,
  type FacetValue,
  maxFacetValues,
  maxValuesOf,
  type Facet as OfferFacetShape,
} from '../../domain/offers/facets.ts'
import { builder } from '../builder.ts'
import { enumOf, nameOf } from '../enum.ts'
import type { FieldCost } from '../limits/field-cost.ts'

export const OfferFacetField = enumOf<FacetField>(
  'OfferFacetField',
  'Fields that offers can be counted by, each named as its filter. New values may be added.',
  {
    gpuName: 'Name of the GPU model, such as "RTX 4090".',
    gpuVendor: 'Vendor of the GPU model, such as `NVIDIA`.',
    gpuRamGb: 'Memory of one GPU in GB, as its maker states it.',
    numGpus: 'Number of GPUs in the offer.',
    country: 'Country of the machine: two letters, ISO 3166.',
    region: 'Region of the world, such as `EUROPE`.',
    city: 'City of the machine, as its host states it.',
    verification: 'Verification status of the machine, such as `VERIFIED`.',
    datacenter: 'Whether the machine is in a data center: `true` or `false`.',
    staticIp: 'Whether the public IP address is static: `true` or `false`.',
    vmsEnabled: 'Whether the machine can run virtual machines: `true` or `false`.',
    cpuArch: 'CPU architecture: `amd64` or `arm64`.',
  },
)

/** Their values are those of enums in this schema. */
const enumFields: FacetField[] = ['gpuVendor', 'region', 'verification']

const OfferFacetValue = builder.objectRef<FacetValue>('OfferFacetValue').implement({
  description: 'One value of a field, and the matching offers that have it.',
  fields: t => ({
    value: t.exposeString('value', {
      description: 'The value as a filter takes it, as a string: `RTX 4090`, `8`, `VERIFIED`, `true`.',
    }),
    count: t.exposeInt('count', { description: 'Number of matching offers with this value, at least 1.' }),
    minimumPricePerHour: t.expose('minimumPriceNanos', {
      type: 'Usd',
      description:
        'Lowest price per hour of the offers with this value, for the `pricing` of the search, in US dollars.',
    }),
  }),
})

export const OfferFacet = builder.objectRef<OfferFacetShape>('OfferFacet').implement({
  description: 'The values of one field among the offers that match a search.',
  fields: t => ({
    field: t.expose('field', { type: OfferFacetField, description: 'Field that the offers are counted by.' }),
    values: t.field({
      type: [OfferFacetValue],
      description: `The values with most matching offers first, at most ${maxFacetValues}. Values that no offer has are left out.`,
      resolve: ({ field, values }) =>
        enumFields.includes(field) ? values.map(each => ({ ...each, value: nameOf(each.value) })) : values,
    }),
  }),
})

/** Each facet costs as many values as it can have: on average, because they are answered by one field. */
export function facetsComplexity({ by }: { by: readonly FacetField[] }): FieldCost {
  const fields = [...new Set(by)]
  const values = fields.reduce((sum, field) => sum + maxValuesOf(field), 0)
  return {
    multiplier: fields.length,
    inside: { values: { multiplier: Math.ceil(values / Math.max(fields.length, 1)) } },
  }
}
