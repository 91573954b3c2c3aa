// Parses a search for storage: a search for offers, without the filters that do not apply to storage.

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
        `Order of the offers: the first listed field among ${Object.keys(orderFields).join(', ')}. Defaults to cheapest first.`,
      ),
    allocated_storage: z
      .number()
      .optional()
      .describe(`Size of the volume in GB: it must fit, and the prices are for it; ${volumeSizeGb.least} by default.`),
    q: text('Search as JSON, instead of the body itself.').optional(),
  })
  .meta({
    id: 'VolumeSearch',
    description: 'A search for storage. Takes the filters of a search for offers that apply to storage.',
  })

export function parseVolumeSearch(body: Record<string, unknown>): { search: VolumeOfferSearch; limit: number } {
  const { order, allocated_storage: sizeGb, ...filters } = body
  const { search, limit } = parseSearch({ ...filters, allocated_storage: sizeGb || volumeSizeGb.least })
  // A volume offer has the id of its machine.
  const conditions = search.filter.conditions.map(condition =>
    condition.field === 'id' ? { ...condition, field: 'machineId' as const } : condition,
  )
  const terms = { conditions: conditions.filter(isVolumeOfferCondition), sizeGb: search.pricing.diskMb / 1000 }
  // Clients send the same order as for an offer search. Fields that volume offers do not have are ignored.
  const table = { fields: orderFields, lenient: true, path: 'order' }
  const [first = cheapestFirst] = collectIssues(complain => parseOrder(order, table, complain))
  return { search: { ...terms, order: first }, limit }
}
