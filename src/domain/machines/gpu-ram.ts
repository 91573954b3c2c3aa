/** Sizes of GPU memory in GB (1,024 MB), as cards are marketed. */
export const marketedRamGb = [
  ...[1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 16, 20, 22, 24, 32, 36, 40, 48, 64, 72, 80, 94, 96, 128, 141, 144, 180, 192],
  ...[256, 288, 384, 512],
]

/**
 * The marketed size of a GPU's memory. Cards report less than that: the driver and error correction take up to a sixteenth,
 * so 24,564 MB and 23,028 MB are both 24 GB. The search statement has the same rule (sql/columns.ts). A size that is more
 * than a seventh above what the card reports is another card's, so the report is rounded up instead.
 */
export function ramGbOf(ramMb: number): number {
  return marketedRamGb.find(size => size * 1024 >= ramMb && size * 1024 * 7 <= ramMb * 8) ?? Math.ceil(ramMb / 1024)
}
