/** No meaningful input nests objects and lists more deeply. */
export const maxNestingLevels = 20

/** Whether a JSON value has more than `levels` levels. Reads nothing deeper, so a deep value cannot overflow the stack. */
export function isTooDeep(value: unknown, levels = maxNestingLevels): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(inner => isTooDeep(inner, levels - 1))
}
