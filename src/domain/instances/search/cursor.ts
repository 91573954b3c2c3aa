import { DomainError } from '../../errors.ts'
import { parseCursor, printCursor } from '../../pages.ts'
import { fieldTypeOf, type InstanceFieldType, type InstanceOrderKey } from './search.ts'

const scopeOf = (order: InstanceOrderKey[]) =>
  `instance rows by ${order.map(({ field, direction }) => `${field} ${direction}`).join(', ')}`

/** A position has one text per key of the order. */
export function printSearchCursor(position: string[], order: InstanceOrderKey[]): string {
  return printCursor(scopeOf(order), position)
}

export function parseSearchCursor(cursor: string, order: InstanceOrderKey[]): string[] {
  const position = parseCursor(cursor, scopeOf(order))
  const texts = position.filter(value => typeof value === 'string')
  const isSound = (value: string, index: number) => {
    const key = order[index]
    return key !== undefined && (key.field === 'id' ? /^\d{1,18}$/ : formats[fieldTypeOf(key.field)]).test(value)
  }
  if (texts.length === position.length && texts.length === order.length && texts.every(isSound)) return texts
  throw new DomainError('INVALID_CURSOR', 'This is not a token of this list.')
}

const text = /^[^\0\ud800-\udfff]*$/u
const formats: Record<InstanceFieldType, RegExp> = {
  number: /^-?\d{1,18}(\.\d{1,18})?(e[+-]\d{1,2})?$/,
  usd: /^\d{1,18}$/,
  text,
  word: text,
  boolean: /^[01]$/,
}
