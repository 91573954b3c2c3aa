// Reads a search for storage: that for offers, as far as storage has what it asks for.

import { z } from 'zod'
import { volumeGb } from '../domain/volumes.ts'
import { isOnStorage, type VolumeOfferOrder } from '../domain/volumes-offers.ts'
import type { VolumeOfferSearch } from '../services/volumes-offers.ts'
import { readSearch } from './offers-input.ts'
import { searchSchema } from './offers-search.ts'
import { text } from './values.ts'

const orderFields = new Map<unknown, VolumeOfferOrder['field']>([
  ['storage_cost', 'price'],
  ['storage_total_cost', 'price'],
  ['dph_total', 'price'],
  ['reliability', 'reliability'],
  ['reliability2', 'reliability'],
  ['disk_space', 'freeDisk'],
])

export const volumeSearchSchema = searchSchema
  .pick({ limit: true, verified: true, geolocation: true, reliability: true, disk_space: true, storage_cost: true })
  .extend({
    order: z
      .array(z.array(z.string()).min(1).max(2).describe('[field, "asc" or "desc"]'))
      .optional()
      .describe(
        `What to sort by: the first of ${[...orderFields.keys()].join(', ')} that is in it. Else the cheapest is first.`,
      ),
    allocated_storage: z
      .number()
      .optional()
      .describe(`The size to price in GB, which must be free; the default is ${volumeGb.least}.`),
    q: text('The search as JSON, when it is not the body itself.').optional(),
  })
  .meta({ id: 'VolumeSearch', description: 'Filters of offers, as far as storage has what they ask for.' })

export function readVolumeSearch(body: Record<string, unknown>): { search: VolumeOfferSearch; limit: number } {
  const { order, allocated_storage: sizeGb, ...filters } = body
  const { search, limit } = readSearch({ ...filters, allocated_storage: sizeGb || volumeGb.least })
  // The offer of storage is its machine.
  const conditions = search.filter.conditions.map(condition =>
    condition.field === 'id' ? { ...condition, field: 'machineId' as const } : condition,
  )
  const asked = { conditions: conditions.filter(isOnStorage), sizeGb: search.pricing.diskMb / 1000 }
  return { search: { ...asked, order: readOrder(order) }, limit }
}

/** Clients send what they sort offers of GPUs by, which storage may not have. */
function readOrder(order: unknown): VolumeOfferOrder {
  for (const key of Array.isArray(order) ? order : []) {
    const [name, direction] = Array.isArray(key) ? key : [key]
    const field = orderFields.get(name)
    if (field) return { field, direction: direction === 'desc' ? 'desc' : 'asc' }
  }
  return { field: 'price', direction: 'asc' }
}
