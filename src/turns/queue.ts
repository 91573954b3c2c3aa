// Owners take turns, so that one with much to do delays another by at most one turn.

/** A queue in which the owners of items take turns. The items of one owner keep their order. */
export type TurnQueue<Owner, Item> = {
  count(): number
  add(owner: Owner, item: Item): void
  /** Removes the next item, of the next owner that may have a turn. */
  next(mayHaveTurn?: (owner: Owner) => boolean): Item | undefined
  /** Removes the oldest items of each owner, as long as they are over. */
  removeOver(isOver: (item: Item) => boolean): Item[]
  /** Removes the newest item of the owner with the most items. */
  removeNewest(): Item[]
}

export function createTurnQueue<Owner, Item>(): TurnQueue<Owner, Item> {
  /** Owners in the order of their turns. None is without items. */
  const waiting = new Map<Owner, Item[]>()
  let count = 0

  function removeFirst(owner: Owner, items: Item[]): Item | undefined {
    count -= 1
    const item = items.shift()
    if (items.length === 0) waiting.delete(owner)
    return item
  }

  return {
    count: () => count,
    add(owner, item) {
      count += 1
      const items = waiting.get(owner)
      if (items) items.push(item)
      else waiting.set(owner, [item])
    },
    next(mayHaveTurn = () => true) {
      for (const [owner, items] of waiting) {
        if (!mayHaveTurn(owner)) continue
        waiting.delete(owner)
        if (items.length > 1) waiting.set(owner, items)
        return removeFirst(owner, items)
      }
      return undefined
    },
    removeOver(isOver) {
      const removed: Item[] = []
      for (const [owner, items] of waiting) {
        while (items.length > 0 && isOver(items[0] as Item)) removed.push(removeFirst(owner, items) as Item)
      }
      return removed
    },
    removeNewest() {
      let most: [Owner, Item[]] | undefined
      for (const one of waiting) if (one[1].length >= (most?.[1].length ?? 1)) most = one
      if (!most) return []
      const [owner, items] = most
      count -= 1
      const removed = items.splice(-1)
      if (items.length === 0) waiting.delete(owner)
      return removed
    },
  }
}
