import { type PageArguments, type PageOf, sizeOf } from '../domain/pages.ts'

/** A page as a connection of Relay. It may say itself where to read on. */
export function connectionOf<Row>({ edges, endCursor: end, ...more }: PageOf<Row> & { endCursor?: string | null }) {
  const [startCursor, endCursor] = [edges[0]?.cursor ?? null, end ?? edges.at(-1)?.cursor ?? null]
  return { edges, pageInfo: { ...more, startCursor, endCursor } }
}

/** What is asked of a row is asked of as many as the page can have. */
export function pageComplexity({ first, last }: PageArguments) {
  return { field: 1, multiplier: sizeOf({ first, last }) }
}
