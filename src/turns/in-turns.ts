// Long work in short turns, so that other requests need not wait for all of it.

import { setImmediate as nextTurn } from 'node:timers/promises'

/** A turn lasts this long, and to the end of the step that it is in. */
const turnMs = 5

export type Turn = {
  isOver(): boolean
  /** Resolves in a later turn of this work, after what has waited longer. */
  next(): Promise<void>
}

export function beginTurn(): Turn {
  let since = performance.now()
  const waiting: (() => void)[] = []
  const isOver = () => performance.now() - since >= turnMs

  async function resumeAll(): Promise<void> {
    for (const resume of waiting) {
      if (isOver()) {
        await nextTurn()
        since = performance.now()
      }
      resume()
      // What has waited runs now, and can use up the turn.
      await undefined
    }
    waiting.length = 0
  }

  return {
    isOver,
    next: () =>
      new Promise(resolve => {
        if (waiting.push(resolve) === 1) void resumeAll()
      }),
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
