import { type PageArguments, type PageResult, pageSizeOf } from '../domain/pages.ts'

/** A page as a connection of Relay. It may say itself where to read on. */
export function connectionOf<Row>({
  edges,
  endCursor: lastCursor,
  ...more
}: PageResult<Row> & { endCursor?: string | null }) {
  const [startCursor, endCursor] = [edges[0]?.cursor ?? null, lastCursor ?? edges.at(-1)?.cursor ?? null]
  return { edges, pageInfo: { ...more, startCursor, endCursor } }
}

/** What is asked of a row is asked of as many as the page can have. */
export function pageComplexity({ first, last }: PageArguments) {
  return { field: 1, multiplier: pageSizeOf({ first, last }) }
}
