/** The value below which a share of the sorted values is; NaN without values. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low = Number.NaN, high = Number.NaN] = [sorted[middle - 1], sorted[middle]]
  return sorted.length % 2 === 1 ? high : (low + high) / 2
}

/** The median of ratios, with the least and the greatest. */
export type Spread = { median: number; low: number; high: number }

/**
 * The ratios of two stacks, a round each. Both ran within seconds in a round, so what slows the machine for a while slows
 * both, and their ratio stays.
 */
export function pairedRatios(ours: readonly number[], theirs: readonly number[]): Spread | undefined {
  const ratios = ours.map((value, round) => value / (theirs[round] ?? Number.NaN)).filter(Number.isFinite)
  if (ratios.length === 0) return undefined
  return { median: median(ratios), low: Math.min(...ratios), high: Math.max(...ratios) }
}
