// Finds due work and does it, a few at a time. What is due stands in the database; nothing is remembered here.

import type { Logger } from 'pino'

export type Loop = {
  /** Looks for what is due from now on, until stopped. */
  start(): void
  /** There may be something due now. */
  wake(): void
  /** While it is held nothing is taken; what is worked on goes on. */
  hold(isHeld: boolean): void
  /** Ends when nothing is due at this instant. True when something was. */
  idle(): Promise<boolean>
  /** Whether nothing could be looked for in a minute, although it was tried. */
  isFailing(): boolean
  /** Ends when whatever is being worked on is done; the rest is left to others. */
  stop(): Promise<void>
}

export type LoopOptions<Item> = {
  /** For the log. */
  name: string
  /** Takes at most so many that are due. What is in the hands of this loop now is told. */
  claim(limit: number, busy: readonly Item[]): Promise<Item[]>
  work(item: Item): Promise<void>
  /** The safety net: what nobody was woken for is found so late at most. */
  pollMs?: number
  /** How many are worked on at once. */
  concurrency?: number
  log: Logger
}

/** A failure of so long is no hiccup. */
const failingAfterMs = 60_000

export function createLoop<Item>(options: LoopOptions<Item>): Loop {
  const { name, claim, work, pollMs = 1_000, concurrency = 8, log } = options
  const running = new Map<Promise<void>, Item>()
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let held = false
  let polling: Promise<void> | undefined
  let pollAgain = false
  let failingSince: number | undefined
  let startedCount = 0

  /** Takes what is due while there are hands free. Whoever asks meanwhile is asked for once more. */
  function poll(): Promise<void> {
    pollAgain = true
    polling ??= claimDue().finally(() => {
      polling = undefined
      // Who asked after the last look, and before this, was handed a promise that looks no more.
      return canClaim() ? poll() : undefined
    })
    return polling
  }

  const canClaim = () => pollAgain && !stopped && !held && running.size < concurrency

  async function claimDue(): Promise<void> {
    while (canClaim()) {
      pollAgain = false
      const items = await claim(concurrency - running.size, [...running.values()])
      if (items.length > 0) pollAgain = true
      for (const item of items) startItem(item)
    }
  }

  /** What is slow keeps one hand busy, and nothing else waiting. */
  function startItem(item: Item): void {
    startedCount += 1
    const task = Promise.resolve()
      .then(() => work(item))
      .catch((error: unknown) => log.warn({ err: error, loop: name }, 'Due work could not be done.'))
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
        // Said once, not every second for as long as the database is gone.
        if (failingSince === undefined)
          log.warn({ err: error, loop: name }, 'Due work cannot be looked for. It is tried again.')
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

/** Several loops as one. Each has hands of its own, so none waits for another. */
export function createLoops(loops: readonly Loop[]): Loop {
  const each = <Value>(act: (loop: Loop) => Value) => loops.map(act)
  return {
    start: () => void each(loop => loop.start()),
    wake: () => void each(loop => loop.wake()),
    hold: isHeld => void each(loop => loop.hold(isHeld)),
    /** What one does may be due work for another. */
    async idle() {
      let worked = false
      while ((await Promise.all(each(loop => loop.idle()))).includes(true)) worked = true
      return worked
    },
    isFailing: () => each(loop => loop.isFailing()).includes(true),
    stop: async () => void (await Promise.all(each(loop => loop.stop()))),
  }
}
