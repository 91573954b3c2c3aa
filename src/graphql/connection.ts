import { type PageArguments, type PageResult, pageSizeOf } from '../domain/pages.ts'
import type { FieldCost } from './limits/field-cost.ts'

/** A page as a Relay connection. `endCursor` overrides the cursor of the last edge. */
export function connectionOf<Row>({
  edges,
  endCursor: lastCursor,
  ...more
}: PageResult<Row> & { endCursor?: string | null }) {
  const [startCursor, endCursor] = [edges[0]?.cursor ?? null, lastCursor ?? edges.at(-1)?.cursor ?? null]
  return { edges, pageInfo: { ...more, startCursor, endCursor } }
}

/** Stands for a page that the client does not ask for. */
export const emptyPage: PageResult<never> = { edges: [], hasNextPage: false, hasPreviousPage: false }

/** The items of a page cost their fields times the largest number of items that the page can have. */
export function pageComplexity(page: PageArguments): FieldCost {
  const items = { multiplier: pageSizeOf(page) }
  return { inside: { nodes: items, edges: items } }
}
