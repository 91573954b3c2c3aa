// Lets streams work in turns, on a share of the event loop: however much they have to tell, requests are answered beside.

import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until it is the owner's turn. The owner works from then on until it waits for something else. */
export type WaitForTurn = (owner: number) => Promise<void>

/** Streams work this long at a time, and then pause twice as long: they get a third of the loop. */
const sliceMs = 5
const pausePerMs = 2
const maxPauseMs = 250

export function createTurnScheduler(): WaitForTurn {
  /** Owners in the order of their turns, each with those that wait. A busy owner delays no other by more than one turn. */
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

/** Node runs a tick once no promise can go on: what was granted has worked, and what others do is not counted with it. */
async function untilItYields(): Promise<void> {
  await new Promise<void>(resolve => process.nextTick(resolve))
}
