// How long the event loop of this thread is held at a time: the processor time between two turns of the loop, which other
// processes of the machine hardly change.

import { PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

export type LongestStep = {
  /** Processor time. Linux may count it in steps of 4 ms. */
  ms: number
  /** How long garbage collection took in it, in time that passed. */
  collectionMs: number
}

/** Measures until the returned function is called, which returns the longest step since then. */
export function measureSteps(): () => Promise<LongestStep> {
  const collections: PerformanceEntry[] = []
  const observer = new PerformanceObserver(list => void collections.push(...list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })
  let longest = { ms: 0, from: 0, to: 0 }
  let [usedMs, from] = [cpuMs(), performance.now()]
  const timer = setInterval(tick, 1)
  return async () => {
    tick()
    clearInterval(timer)
    // The observer learns of a collection some turns later.
    await sleep(20)
    observer.disconnect()
    const within = collections.filter(({ startTime }) => startTime >= longest.from && startTime <= longest.to)
    return { ms: longest.ms, collectionMs: within.reduce((sum, { duration }) => sum + duration, 0) }
  }

  function tick() {
    const [used, to] = [cpuMs(), performance.now()]
    if (used - usedMs > longest.ms) longest = { ms: used - usedMs, from, to }
    usedMs = used
    from = to
  }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
