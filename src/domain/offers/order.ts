import { invalidInput } from '../errors.ts'
import { type FieldValue, fieldTypeOf, fieldValueOf, type OfferField } from './fields.ts'
import type { Offer } from './offers.ts'

export type Direction = 'asc' | 'desc'
export type OrderKey = { field: OfferField; direction: Direction }

export const maxOrderKeys = 4

/** Appends price and id as tie-breakers, so that no two offers compare equal. */
export function completeOrder(keys: OrderKey[]): OrderKey[] {
  if (keys.length > maxOrderKeys) {
    throw invalidInput([{ path: 'order', message: `must have at most ${maxOrderKeys} keys, not ${keys.length}.` }])
  }
  const unique = keys.filter((key, index) => keys.findIndex(({ field }) => field === key.field) === index)
  const ties: OrderKey[] = [
    { field: 'pricePerHour', direction: 'asc' },
    { field: 'id', direction: 'asc' },
  ]
  return [...unique, ...ties.filter(tie => !unique.some(({ field }) => field === tie.field))]
}

/** The position of an offer in an order: one value per key. */
export function positionOf(offer: Offer, keys: OrderKey[]): FieldValue[] {
  return keys.map(({ field }) => fieldValueOf(offer, field))
}

/** The same from the values that the search statement ordered the offer by. */
export function positionFrom(values: unknown[], keys: OrderKey[]): FieldValue[] {
  return keys.map(({ field }, index) => {
    switch (fieldTypeOf(field)) {
      case 'number':
        return Number(values[index])
      case 'usd':
        return BigInt(String(values[index]))
      default:
        return String(values[index])
    }
  })
}

export function reverseOrder(keys: OrderKey[]): OrderKey[] {
  return keys.map(({ field, direction }) => ({ field, direction: direction === 'asc' ? 'desc' : 'asc' }))
}
