// Reads a search for storage: that for offers, as far as storage has what it asks for.

import { z } from 'zod'
import { isVolumeOfferCondition, type VolumeOfferOrder } from '../../domain/volumes/offers.ts'
import { volumeSizeGb } from '../../domain/volumes/volumes.ts'
import type { VolumeOfferSearch } from '../../services/volumes/offers.ts'
import { parseOrder } from '../filters.ts'
import { collectIssues } from '../list-parameters.ts'
import { parseSearch } from '../offers/input.ts'
import { searchSchema } from '../offers/search-schema.ts'
import { text } from '../values.ts'

const orderFields: Record<string, VolumeOfferOrder['field']> = {
  storage_cost: 'price',
  storage_total_cost: 'price',
  dph_total: 'price',
  reliability: 'reliability',
  reliability2: 'reliability',
  disk_space: 'freeDisk',
}
const cheapestFirst: VolumeOfferOrder = { field: 'price', direction: 'asc' }

export const volumeSearchSchema = searchSchema
  .pick({ limit: true, verified: true, geolocation: true, reliability: true, disk_space: true, storage_cost: true })
  .extend({
    order: z
      .array(z.array(z.string()).min(1).max(2).describe('[field, "asc" or "desc"]'))
      .optional()
      .describe(
        `What to sort by: the first of ${Object.keys(orderFields).join(', ')} that is in it. Else the cheapest is first.`,
      ),
    allocated_storage: z
      .number()
      .optional()
      .describe(`The size to price in GB, which must be free; the default is ${volumeSizeGb.least}.`),
    q: text('The search as JSON, when it is not the body itself.').optional(),
  })
  .meta({ id: 'VolumeSearch', description: 'Filters of offers, as far as storage has what they ask for.' })

export function parseVolumeSearch(body: Record<string, unknown>): { search: VolumeOfferSearch; limit: number } {
  const { order, allocated_storage: sizeGb, ...filters } = body
  const { search, limit } = parseSearch({ ...filters, allocated_storage: sizeGb || volumeSizeGb.least })
  // The offer of storage is its machine.
  const conditions = search.filter.conditions.map(condition =>
    condition.field === 'id' ? { ...condition, field: 'machineId' as const } : condition,
  )
  const asked = { conditions: conditions.filter(isVolumeOfferCondition), sizeGb: search.pricing.diskMb / 1000 }
  // Clients send what they sort offers of GPUs by, which storage may not have.
  const table = { fields: orderFields, lenient: true, path: 'order' }
  const [first = cheapestFirst] = collectIssues(complain => parseOrder(order, table, complain))
  return { search: { ...asked, order: first }, limit }
}
