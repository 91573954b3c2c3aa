/** Counts what each holder has open, up to a maximum. */
export function createCounts(maximum: number) {
  const open = new Map<string, number>()
  return {
    /** Whether there is room for one more. If so, it counts until `remove`. */
    add(holder: string): boolean {
      const count = open.get(holder) ?? 0
      if (count >= maximum) return false
      open.set(holder, count + 1)
      return true
    },
    remove(holder: string): void {
      const count = (open.get(holder) ?? 0) - 1
      if (count > 0) open.set(holder, count)
      else open.delete(holder)
    },
  }
}
