// Accounts take turns, so that one with many streams delays another by at most one turn.

export type TurnQueue<Item> = { add(owner: number, item: Item): void; next(): Item | undefined }

/** A queue in which the owners of items take turns. The items of one owner keep their order. */
export function createTurnQueue<Item>(): TurnQueue<Item> {
  /** Owners in the order of their turns. None is without items. */
  const waiting = new Map<number, Item[]>()
  return {
    add(owner, item) {
      const items = waiting.get(owner)
      if (items) items.push(item)
      else waiting.set(owner, [item])
    },
    next() {
      const turn = waiting.entries().next()
      if (turn.done) return undefined
      const [owner, [item, ...rest]] = turn.value
      waiting.delete(owner)
      if (rest.length > 0) waiting.set(owner, rest)
      return item
    },
  }
}

/** Runs the work of an account, or keeps it until there is a free slot. */
export type LimitConcurrency = <Value>(accountId: number, work: () => Promise<Value>) => Promise<Value>

/** Runs at most `limit` calls at once. For further calls the accounts take turns. */
export function limitConcurrency(limit: number): LimitConcurrency {
  const waiting = createTurnQueue<() => void>()
  let free = limit
  return async (accountId, work) => {
    if (free > 0) free -= 1
    else await new Promise<void>(resolve => waiting.add(accountId, resolve))
    try {
      return await work()
    } finally {
      const start = waiting.next()
      // The slot goes to a call that waits, so that a new call cannot overtake it.
      if (start) start()
      else free += 1
    }
  }
}
