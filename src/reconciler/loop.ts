// Leases due work and runs a few items at a time. What is due is in the database; the loop keeps no state of it.

import type { Logger } from 'pino'
import { type Cause, currentCause } from '../traces/causes.ts'
import { type Attributes, inTrace } from '../traces/spans.ts'

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
  /** Whether `leaseDue` leases as many items as it may. Then fewer mean that no more are due. */
  leasesAll?: boolean
  work(item: Item): Promise<void>
  /** What the trace of the work tells of the item: its ids. */
  describe?(item: Item): Attributes
  /** The safety net: the loop finds due work within this time without a wake-up. */
  pollMs?: number
  /** After a poll, wake-ups wait for this time while slots are free, so that what becomes due meanwhile is leased together. */
  restMs?: number
  /** The same for the poll after work has ended, which finds what only time has made due. Such work can wait longer. */
  settleMs?: number
  /** Maximum number of items in work at once. */
  concurrency?: number
  log: Logger
}

const failingAfterMs = 60_000
/** So many causes of a wake-up are linked to the traces of the work that the loop finds then. */
const maxCauses = 8

export function createLoop<Item>(options: LoopOptions<Item>): Loop {
  const {
    name,
    leaseDue,
    leasesAll = false,
    work,
    describe = () => ({}),
    pollMs = 1_000,
    restMs = 0,
    concurrency = 8,
    log,
  } = options
  const { settleMs = restMs } = options
  const running = new Map<Promise<void>, Item>()
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let held = false
  let polling: Promise<void> | undefined
  let scheduledTick: NodeJS.Immediate | undefined
  let restTimer: NodeJS.Timeout | undefined
  let restEndsAt = Number.POSITIVE_INFINITY
  let lastPollMs = Number.NEGATIVE_INFINITY
  let pollAgain = false
  let failingSince: number | undefined
  let startedCount = 0
  let causes: Cause[] = []

  /** Starts due work while slots are free. A call during a poll makes it lease once more. */
  function poll(): Promise<void> {
    clearImmediate(scheduledTick)
    scheduledTick = undefined
    clearTimeout(restTimer)
    restTimer = undefined
    restEndsAt = Number.POSITIVE_INFINITY
    lastPollMs = performance.now()
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
      const limit = concurrency - running.size
      const links = causes
      causes = []
      const items = await leaseDue(limit, [...running.values()])
      // Here, since wake-ups may keep a poll going for as long as the load lasts.
      failingSince = undefined
      if (items.length === limit || (items.length > 0 && !leasesAll)) pollAgain = true
      for (const item of items) startItem(item, links)
    }
  }

  /** Does not wait: a slow item takes one slot and delays no other. */
  function startItem(item: Item, links: Cause[]): void {
    startedCount += 1
    const task = Promise.resolve()
      .then(() => inTrace(`due ${name}`, { links, attributes: describe(item) }, () => work(item)))
      .catch((error: unknown) => log.warn({ err: error, loop: name }, 'Due work failed.'))
      .finally(() => {
        running.delete(task)
        const wasFull = running.size === concurrency - 1
        if (settleMs > 0 && !wasFull) tickAfterRest(settleMs)
        // Once for all items that are done in this turn, so that the next lease fills all of their slots.
        else scheduledTick ??= setImmediate(tick)
      })
    running.set(task, item)
  }

  /** Polls this long after the last poll, or sooner if that is arranged already. */
  function tickAfterRest(ms: number): void {
    const endsAt = lastPollMs + ms
    if (endsAt >= restEndsAt) return
    clearTimeout(restTimer)
    restEndsAt = endsAt
    const waitMs = endsAt - performance.now()
    if (waitMs <= 0) tick()
    else restTimer = setTimeout(tick, waitMs)
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
      const cause = currentCause()
      if (cause && causes.length < maxCauses) causes.push(cause)
      if (timer) tickAfterRest(restMs)
    },
    hold(isHeld) {
      held = isHeld
      if (timer) tick()
    },
    async idle() {
      const before = startedCount
      let startedBefore: number
      do {
        startedBefore = startedCount
        await poll()
        await Promise.all(running.keys())
      } while (running.size > 0 || polling || scheduledTick || startedCount > startedBefore)
      return startedCount > before
    },
    isFailing: () => failingSince !== undefined && performance.now() - failingSince > failingAfterMs,
    async stop() {
      stopped = true
      clearInterval(timer)
      clearImmediate(scheduledTick)
      clearTimeout(restTimer)
      timer = undefined
      await polling?.catch(() => {})
      await Promise.all(running.keys())
    },
  }
}

export type Loops = Omit<Loop, 'wake'> & {
  /** Wakes the loops of these kinds of work. */
  wake(kinds: ReadonlySet<string>): void
}

/** Combines the loops of several kinds of work. Each has slots of its own, so none waits for another. */
export function createLoops(byKind: Readonly<Record<string, Loop>>): Loops {
  const loops = Object.entries(byKind)
  const each = <Value>(act: (loop: Loop) => Value) => loops.map(([, loop]) => act(loop))
  return {
    start: () => void each(loop => loop.start()),
    wake(kinds) {
      for (const [kind, loop] of loops) if (kinds.has(kind)) loop.wake()
    },
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
