// Long work in short turns, so that other requests need not wait for all of it.

import { currentOwner, type Owner } from './owners.ts'
import { createTurnQueue } from './queue.ts'

/** A turn lasts this long, and to the end of the step that it is in. */
const turnMs = 5
/** Work that begins while other work waits has this long before it waits, too: enough for what is short. */
const firstTurnMs = 1

export type Turn = {
  isOver(): boolean
  /** Resolves in a later turn of this work, after what has waited longer. */
  next(): Promise<void>
}

/** What waits for a turn. The owners of work take turns. */
const waitingForTurn = createTurnQueue<Owner | undefined, () => void>()

/** Between two turns, of whatever work, the gateway looks at its sockets: what is short never waits for many turns. */
function nextTurn(): Promise<void> {
  return new Promise(resolve => {
    waitingForTurn.add(currentOwner(), resolve)
    if (waitingForTurn.count() === 1) setImmediate(giveTurn)
  })
}

function giveTurn(): void {
  waitingForTurn.next()?.()
  if (waitingForTurn.count() > 0) setImmediate(giveTurn)
}

export function beginTurn(): Turn {
  let end = performance.now() + (waitingForTurn.count() > 0 ? firstTurnMs : turnMs)
  const waiting: (() => void)[] = []
  const isOver = () => performance.now() >= end

  async function resumeAll(): Promise<void> {
    for (const resume of waiting) {
      if (isOver()) {
        await nextTurn()
        end = performance.now() + turnMs
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
