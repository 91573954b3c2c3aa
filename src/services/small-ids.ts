/** The ids that a column of four bytes can have. Prisma refuses to compare such a column with a larger integer. */
export function smallIds(ids: readonly (number | bigint)[]): number[] {
  return ids.filter(id => id < 2 ** 31).map(Number)
}
