/** More changes at once than any host has containers. */
const burst = 1_000
const perSecond = 20

/**
 * Whether one more change of a host counts now. Each makes a pass due, and a host may tell of changes without end. Passes come
 * anyway, only later.
 */
export function createChangeLimit(nowMs = () => performance.now()) {
  let left = burst
  let lastMs = nowMs()
  return (): boolean => {
    const at = nowMs()
    left = Math.min(burst, left + ((at - lastMs) / 1_000) * perSecond)
    lastMs = at
    if (left < 1) return false
    left -= 1
    return true
  }
}
