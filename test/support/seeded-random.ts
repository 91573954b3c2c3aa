/** Random choices that repeat for the same seed. */
export type SeededRandom = ReturnType<typeof createSeededRandom>

export function createSeededRandom(seed: number) {
  let state = seed | 0
  /** The next number from 0 (inclusive) to 1 (exclusive), by the generator mulberry32. */
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integerBetween = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    between: integerBetween,
    /** True with this probability. */
    withProbability: (share: number) => next() < share,
    /** Undefined if there are no items. */
    pick: <Item>(items: readonly Item[]): Item | undefined => items[integerBetween(0, items.length - 1)],
    /** An independent generator, for choices that run concurrently with others. */
    fork: () => createSeededRandom(integerBetween(0, 2 ** 31)),
  }
}
