// Lets streams work in turns on a share of the event loop, so that busy streams do not hold up requests.

import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for the owner's turn, which lasts until the owner awaits something else. */
type WaitForTurn = (owner: number) => Promise<void>

/** Streams work this long, then pause twice as long: they get a third of the event loop. */
const sliceMs = 5
const pausePerMs = 2
const maxPauseMs = 250

export function createTurnScheduler(): WaitForTurn {
  /** Owners in the order of their turns, each with its queue. A busy owner delays another by at most one turn. */
  const waiting = new Map<number, (() => void)[]>()
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    let workedMs = 0
    while (waiting.size > 0) {
      const start = performance.now()
      grantNext()
      await untilItYields()
      workedMs += performance.now() - start
      if (workedMs < sliceMs) continue
      await sleep(Math.min(workedMs * pausePerMs, maxPauseMs))
      workedMs = 0
    }
    isRunning = false
  }

  function grantNext(): void {
    const [owner, queue] = waiting.entries().next().value as [number, (() => void)[]]
    const grant = queue.shift()
    waiting.delete(owner)
    if (queue.length > 0) waiting.set(owner, queue)
    grant?.()
  }

  return owner => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const queue = waiting.get(owner) ?? []
    queue.push(resolve)
    waiting.set(owner, queue)
    if (!isRunning) void run()
    return promise
  }
}

/** From a promise job, `nextTick` runs only once no other promise job is left: by then the owner has yielded. */
async function untilItYields(): Promise<void> {
  await new Promise<void>(resolve => process.nextTick(resolve))
}
