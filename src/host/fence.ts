/** Tells the newest connection of the host from earlier ones, whose calls must not act anymore. */
export type Fence = ReturnType<typeof createFence>

export function createFence() {
  let newest = 0
  return {
    /** The greatest that this host has seen. */
    newest: (): number => newest,
    /** False if a later connection has begun. */
    raise(generation: number): boolean {
      if (generation < newest) return false
      newest = generation
      return true
    },
    isCurrent: (generation: number): boolean => generation >= newest,
  }
}
