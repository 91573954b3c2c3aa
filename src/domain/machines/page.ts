import { invalidCursor, parseCursor, printCursor } from '../pages.ts'

/** Hosts list their machines by age. Machine ids ascend in the same order. */
const scope = 'hosted machines by id'

export function printHostedMachineCursor(id: number): string {
  return printCursor(scope, [id])
}

export function parseHostedMachineCursor(cursor: string): number {
  const [id, ...rest] = parseCursor(cursor, scope)
  const isId = typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < 2 ** 31
  if (isId && rest.length === 0) return id
  throw invalidCursor()
}
