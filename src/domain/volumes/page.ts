import { invalidCursor, parseCursor, printCursor } from '../pages.ts'

/** Volumes are listed by age. Their ids ascend in the same order. */
const scope = 'volumes by id desc'

export function printVolumeCursor(id: bigint): string {
  return printCursor(scope, [String(id)])
}

export function parseVolumeCursor(cursor: string): bigint {
  const [id, ...rest] = parseCursor(cursor, scope)
  if (typeof id === 'string' && /^\d{1,18}$/.test(id) && rest.length === 0) return BigInt(id)
  throw invalidCursor()
}
