/** Lets calls with the same key that come while one runs share its result. */
export function createSingleFlight() {
  const running = new Map<string, Promise<void>>()
  return {
    run(key: string, work: () => Promise<void>): Promise<void> {
      const known = running.get(key)
      if (known) return known
      const begun = work().finally(() => running.delete(key))
      running.set(key, begun)
      return begun
    },
  }
}
