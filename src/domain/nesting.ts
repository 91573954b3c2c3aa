/** No input that means anything has more objects and lists around one another. */
export const maxNestingLevels = 20

/** Whether a value of JSON has more levels than these. What is below them is not looked at, however deep it is. */
export function isTooDeep(value: unknown, levels = maxNestingLevels): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(inner => isTooDeep(inner, levels - 1))
}
