import type { Direction } from '../offers/order.ts'
import { invalidCursor, parseCursor, printCursor } from '../pages.ts'

export type InstanceOrder = { field: 'createdAt' | 'pricePerHour' | 'label'; direction: Direction }

/** The position of an instance in an order: the value that it is ordered by, as text, and its id, which makes it unique. */
export type InstancePosition = { value: string; id: bigint }

const scopeOf = ({ field, direction }: InstanceOrder) => `instances by ${field} ${direction}`

export function printInstanceCursor({ value, id }: InstancePosition, order: InstanceOrder): string {
  return printCursor(scopeOf(order), [value, String(id)])
}

const formats: Record<InstanceOrder['field'], RegExp> = {
  createdAt: /^\d{1,18}$/,
  pricePerHour: /^\d{1,18}$/,
  label: /^[^\0]*$/,
}

export function parseInstanceCursor(cursor: string, order: InstanceOrder): InstancePosition {
  const [value, id, ...rest] = parseCursor(cursor, scopeOf(order))
  if (typeof value === 'string' && typeof id === 'string' && rest.length === 0) {
    if (formats[order.field].test(value) && value.isWellFormed() && /^\d{1,18}$/.test(id))
      return { value, id: BigInt(id) }
  }
  throw invalidCursor()
}
