import { parseVersion } from '../machines/versions.ts'
import { invalidCursor, parseCursor, printCursor } from '../pages.ts'
import { type FieldValue, fieldTypeOf } from './fields.ts'
import type { Pricing } from './offers.ts'
import type { OrderKey } from './order.ts'

/** Positions contain prices, so a cursor is valid only for the order and pricing that it was made with. */
function scopeOf(keys: OrderKey[], pricing: Pricing): string {
  return `${keys.map(({ field, direction }) => `${field} ${direction}`).join(', ')} at ${pricing.rentalKind} ${pricing.diskMb}`
}

export function printOfferCursor(position: FieldValue[], keys: OrderKey[], pricing: Pricing): string {
  const values = position.map(value => (typeof value === 'number' ? value : String(value)))
  return printCursor(scopeOf(keys, pricing), values)
}

export function parseOfferCursor(cursor: string, keys: OrderKey[], pricing: Pricing): FieldValue[] {
  const values = parseCursor(cursor, scopeOf(keys, pricing))
  const position = keys.map(({ field }, index) => parsePositionValue(fieldTypeOf(field), values[index]))
  if (position.length === values.length && position.every(value => value !== undefined)) return position
  throw invalidCursor()
}

function parsePositionValue(type: ReturnType<typeof fieldTypeOf>, value: unknown): FieldValue | undefined {
  switch (type) {
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? value : undefined
    case 'usd':
      return typeof value === 'string' && /^-?\d{1,18}$/.test(value) ? BigInt(value) : undefined
    case 'text':
      return typeof value === 'string' && value.isWellFormed() && !value.includes('\0') ? value : undefined
    case 'version':
      return typeof value === 'string' && (value === '' || parseVersion(value) !== undefined) ? value : undefined
    case 'boolean':
      // No order has a boolean key.
      return undefined
  }
}
