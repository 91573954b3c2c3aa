/** Counts what each holder has open, up to a maximum. */
export function createCounts<Holder = string>(maximum: number) {
  const open = new Map<Holder, number>()
  return {
    /** Whether there is room for one more. If so, it counts until `remove`. */
    add(holder: Holder): boolean {
      const count = open.get(holder) ?? 0
      if (count >= maximum) return false
      open.set(holder, count + 1)
      return true
    },
    remove(holder: Holder): void {
      const count = (open.get(holder) ?? 0) - 1
      if (count > 0) open.set(holder, count)
      else open.delete(holder)
    },
  }
}
