// Lets streams work in turns on a share of the event loop, so that busy streams do not hold up requests.

import { setTimeout as sleep } from 'node:timers/promises'
import { createTurnQueue } from '../turns/queue.ts'

/** Waits for the owner's turn, which lasts until the owner awaits something else. */
type WaitForTurn = (owner: number) => Promise<void>

/** Streams work this long, then pause twice as long: they get a third of the event loop. */
const sliceMs = 5
const pausePerMs = 2
const maxPauseMs = 250

export function createTurnScheduler(): WaitForTurn {
  const waiting = createTurnQueue<number, () => void>()
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    let workedMs = 0
    for (let grant = waiting.next(); grant; grant = waiting.next()) {
      const start = performance.now()
      grant()
      await untilItYields()
      workedMs += performance.now() - start
      if (workedMs < sliceMs) continue
      await sleep(Math.min(workedMs * pausePerMs, maxPauseMs))
      workedMs = 0
    }
    isRunning = false
  }

  return owner => {
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.add(owner, resolve)
    if (!isRunning) void run()
    return promise
  }
}

/** From a promise job, `nextTick` runs only once no other promise job is left: by then the owner has yielded. */
async function untilItYields(): Promise<void> {
  await new Promise<void>(resolve => process.nextTick(resolve))
}
