// Callers read a list in pages that start after (or end before) a cursor. A cursor is the position of a row in the
// order, not a count of rows. So pages neither repeat nor skip rows that stay in the list while it changes.

import { DomainError, invalidInput } from './errors.ts'

export const defaultPageSize = 25
export const maxPageSize = 100

export type PageArguments = {
  first?: number | null | undefined
  after?: string | null | undefined
  last?: number | null | undefined
  before?: string | null | undefined
}

/** The page size for complexity limits, which are computed before `parsePage` refuses sizes outside the range. */
export function pageSizeOf({ first, last }: PageArguments): number {
  return Math.min(Math.max(first ?? last ?? defaultPageSize, 1), maxPageSize)
}

/** `limit` rows after the cursor or, backward, the last `limit` rows before it. */
type PageQuery = { limit: number; backward: boolean; cursor: string | undefined }

export function parsePage({ first, after, last, before }: PageArguments): PageQuery {
  const backward = last != null || before != null
  if (backward && (first != null || after != null)) {
    const message = 'use "first" and "after" to page forward, or "last" and "before" to page backward, but not both.'
    throw invalidInput([{ path: 'first', message }])
  }
  const name = backward ? 'last' : 'first'
  const limit = (backward ? last : first) ?? defaultPageSize
  if (limit < 1 || limit > maxPageSize) {
    throw invalidInput([{ path: name, message: `must be from 1 to ${maxPageSize}, not ${limit}.` }])
  }
  return { limit, backward, cursor: (backward ? before : after) ?? undefined }
}

const currentVersion = 'v1'

/** `scope` tells lists and their orders apart. `parseCursor` refuses a cursor of another scope. */
export function printCursor(scope: string, position: (string | number)[]): string {
  return Buffer.from(JSON.stringify([currentVersion, scope, ...position])).toString('base64url')
}

export function parseCursor(cursor: string, scope: string): unknown[] {
  const [cursorVersion, cursorScope, ...position] = decodeCursor(cursor)
  if (cursorVersion !== currentVersion) throw invalidCursor()
  if (cursorScope !== scope) {
    const message = 'This cursor belongs to another list, order or pricing: start again without it.'
    throw new DomainError('INVALID_CURSOR', message)
  }
  return position
}

/** For a cursor that no list returned. */
export function invalidCursor(): DomainError {
  return new DomainError(
    'INVALID_CURSOR',
    'The cursor does not belong to this list. Use one that the list has returned.',
  )
}

function decodeCursor(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}

/** The rows of a page with their cursors, and whether there are rows before and after the page. */
export type PageResult<Row> = { edges: { node: Row; cursor: string }[]; hasNextPage: boolean; hasPreviousPage: boolean }

/** `rows` holds one row more than the page if the list goes on. */
export function pageOf<Row>(rows: Row[], page: PageQuery, cursorOf: (row: Row) => string): PageResult<Row> {
  const more = rows.length > page.limit
  const edges = rows.slice(0, page.limit).map(node => ({ node, cursor: cursorOf(node) }))
  return page.backward
    ? { edges: edges.reverse(), hasNextPage: page.cursor !== undefined, hasPreviousPage: more }
    : { edges, hasNextPage: more, hasPreviousPage: page.cursor !== undefined }
}
