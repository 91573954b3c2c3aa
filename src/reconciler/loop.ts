// Leases due work and runs a few items at a time. What is due is in the database; the loop keeps no state of it.

import type { Logger } from 'pino'

export type Loop = {
  /** Polls for due work until stopped. */
  start(): void
  /** Polls at once, because work may be due. */
  wake(): void
  /** While held, the loop leases nothing. Running work continues. */
  hold(isHeld: boolean): void
  /** Waits until nothing is due at this instant. True if work was done. */
  idle(): Promise<boolean>
  /** Whether every poll of the last minute failed. */
  isFailing(): boolean
  /** Waits until running work is done. Due work is left to other gateways. */
  stop(): Promise<void>
}

export type LoopOptions<Item> = {
  /** The loop's name in the log. */
  name: string
  /** Leases at most `limit` due items. `busy` are the items that this loop works on now. */
  leaseDue(limit: number, busy: readonly Item[]): Promise<Item[]>
  work(item: Item): Promise<void>
  /** The safety net: the loop finds due work within this time without a wake-up. */
  pollMs?: number
  /** Maximum number of items in work at once. */
  concurrency?: number
  log: Logger
}

const failingAfterMs = 60_000

export function createLoop<Item>(options: LoopOptions<Item>): Loop {
  const { name, leaseDue, work, pollMs = 1_000, concurrency = 8, log } = options
  const running = new Map<Promise<void>, Item>()
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let held = false
  let polling: Promise<void> | undefined
  let pollAgain = false
  let failingSince: number | undefined
  let startedCount = 0

  /** Starts due work while slots are free. A call during a poll makes it lease once more. */
  function poll(): Promise<void> {
    pollAgain = true
    polling ??= startDue().finally(() => {
      polling = undefined
      // A caller that came after the last `leaseDue` got this promise, although nothing more is leased. So poll again.
      return canLease() ? poll() : undefined
    })
    return polling
  }

  const canLease = () => pollAgain && !stopped && !held && running.size < concurrency

  async function startDue(): Promise<void> {
    while (canLease()) {
      pollAgain = false
      const items = await leaseDue(concurrency - running.size, [...running.values()])
      if (items.length > 0) pollAgain = true
      for (const item of items) startItem(item)
    }
  }

  /** Does not wait: a slow item takes one slot and delays no other. */
  function startItem(item: Item): void {
    startedCount += 1
    const task = Promise.resolve()
      .then(() => work(item))
      .catch((error: unknown) => log.warn({ err: error, loop: name }, 'Due work failed.'))
      .finally(() => {
        running.delete(task)
        tick()
      })
    running.set(task, item)
  }

  function tick(): void {
    if (stopped) return
    poll().then(
      () => {
        failingSince = undefined
      },
      (error: unknown) => {
        // Logged once, not every second while the database is down.
        if (failingSince === undefined)
          log.warn({ err: error, loop: name }, 'The gateway cannot poll for due work. It keeps trying.')
        failingSince ??= performance.now()
      },
    )
  }

  return {
    start() {
      timer = setInterval(tick, pollMs)
      tick()
    },
    wake() {
      if (timer) tick()
    },
    hold(isHeld) {
      held = isHeld
      if (timer) tick()
    },
    async idle() {
      const before = startedCount
      do {
        await poll()
        await Promise.all(running.keys())
      } while (running.size > 0 || polling)
      return startedCount > before
    },
    isFailing: () => failingSince !== undefined && performance.now() - failingSince > failingAfterMs,
    async stop() {
      stopped = true
      clearInterval(timer)
      timer = undefined
      await polling?.catch(() => {})
      await Promise.all(running.keys())
    },
  }
}

/** Combines loops. Each has slots of its own, so none waits for another. */
export function createLoops(loops: readonly Loop[]): Loop {
  const each = <Value>(act: (loop: Loop) => Value) => loops.map(act)
  return {
    start: () => void each(loop => loop.start()),
    wake: () => void each(loop => loop.wake()),
    hold: isHeld => void each(loop => loop.hold(isHeld)),
    /** Repeats, because the work of one loop may make work due for another. */
    async idle() {
      let worked = false
      while ((await Promise.all(each(loop => loop.idle()))).includes(true)) worked = true
      return worked
    },
    isFailing: () => each(loop => loop.isFailing()).includes(true),
    stop: async () => void (await Promise.all(each(loop => loop.stop()))),
  }
}
