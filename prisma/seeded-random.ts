export type SeededRandom = ReturnType<typeof createRandom>

/** Pseudo-random numbers (splitmix32). The same arguments give the same numbers. */
export function createRandom(seed: number, stream: number, index: number) {
  let state = Math.imul(seed, 0x85ebca6b) ^ Math.imul(stream, 0xc2b2ae35) ^ Math.imul(index + 1, 0x27d4eb2f)

  function next(): number {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }

  function between(low: number, high: number): number {
    return low + next() * (high - low)
  }

  function weighted<T>(items: readonly T[], weightOf: (item: T) => number): T {
    let remaining = next() * items.reduce((sum, item) => sum + weightOf(item), 0)
    for (const item of items) {
      remaining -= weightOf(item)
      if (remaining < 0) return item
    }
    return items.at(-1) as T
  }

  return {
    between,
    /** A number with this many decimal places. */
    rounded: (low: number, high: number, places: number) => Number(between(low, high).toFixed(places)),
    whole: (low: number, high: number) => Math.floor(between(low, high + 1)),
    chance: (share: number) => next() < share,
    pick: <T>(items: readonly T[]) => items[Math.floor(next() * items.length)] as T,
    weighted,
  }
}
