/** More than reading the longest answer takes. */
const answerMs = 500
/** How much longer than its work a connection rests. */
const restFactor = 4

/** Keeps the work of one connection to a fifth of the time of this process, as the other side may send without end. */
export function createTimeShare(nowMs = () => performance.now(), burstMs = answerMs) {
  let leftMs = burstMs
  let lastMs = nowMs()
  /** Does the work, which has taken `beforeMs` already, and returns for how many ms the connection must rest then. */
  return (beforeMs: number, work: () => void): number => {
    const beginMs = nowMs()
    leftMs = Math.min(burstMs, leftMs + (beginMs - lastMs) / restFactor)
    work()
    lastMs = nowMs()
    // If this process stood still meanwhile, the connection must not rest for longer than its pings may take.
    leftMs = Math.max(-burstMs, leftMs - beforeMs - (lastMs - beginMs))
    return leftMs < 0 ? -leftMs * restFactor : 0
  }
}
