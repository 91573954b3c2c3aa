import { type PageArguments, type PageResult, pageSizeOf } from '../domain/pages.ts'

/** A page as a Relay connection. `endCursor` overrides the cursor of the last edge. */
export function connectionOf<Row>({
  edges,
  endCursor: lastCursor,
  ...more
}: PageResult<Row> & { endCursor?: string | null }) {
  const [startCursor, endCursor] = [edges[0]?.cursor ?? null, lastCursor ?? edges.at(-1)?.cursor ?? null]
  return { edges, pageInfo: { ...more, startCursor, endCursor } }
}

/** The cost of an item's fields, times the largest number of items that the page can have. */
export function pageComplexity({ first, last }: PageArguments) {
  return { field: 1, multiplier: pageSizeOf({ first, last }) }
}
