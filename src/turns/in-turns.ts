// Long work in short turns, so that other requests need not wait for all of it.

import { setImmediate as nextTurn } from 'node:timers/promises'

/** A turn lasts this long, and to the end of the step that it is in. */
const turnMs = 5

export type Turn = {
  isOver(): boolean
  /** Lets other work run, and begins the next turn. */
  next(): Promise<void>
}

export function beginTurn(): Turn {
  let since = performance.now()
  return {
    isOver: () => performance.now() - since >= turnMs,
    async next() {
      await nextTurn()
      since = performance.now()
    },
  }
}

/** `items.map(make)`, in turns. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  make: (item: Item) => Result,
): Promise<Result[]> {
  const turn = beginTurn()
  const results: Result[] = []
  for (const item of items) {
    if (turn.isOver()) await turn.next()
    results.push(make(item))
  }
  return results
}
