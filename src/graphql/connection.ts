import { type PageArguments, type PageOf, sizeOf } from '../domain/pages.ts'

/** A page as a connection of Relay. */
export function connectionOf<Row>({ edges, ...more }: PageOf<Row>) {
  const [startCursor, endCursor] = [edges[0]?.cursor ?? null, edges.at(-1)?.cursor ?? null]
  return { edges, pageInfo: { ...more, startCursor, endCursor } }
}

/** What is asked of a row is asked of as many as the page can have. */
export function pageComplexity({ first, last }: PageArguments) {
  return { field: 1, multiplier: sizeOf({ first, last }) }
}
