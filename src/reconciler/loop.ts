import type { Logger } from 'pino'
import { type Deps, reconcile } from './reconcile.ts'

export type Loop = {
  /** Looks at what is due from now on, until stopped. */
  start(): void
  /** There may be something due now. */
  wake(): void
  /** Ends when nothing is due at this instant. */
  idle(): Promise<void>
  /** Ends when whatever is being looked at is done; the rest is left to others. */
  stop(): Promise<void>
}

/** The safety net: what nobody was woken for is found so late at most. */
const pollMs = 1_000
const concurrency = 8

export function createReconciler(deps: Deps): Loop {
  const { reconciliation, log } = deps
  return createLoop({
    claim: limit => reconciliation.claim(limit),
    work: lease => reconcile(deps, lease),
    concurrency,
    log,
  })
}

export type LoopOptions<Item> = {
  /** Takes what is due, at most so many. */
  claim(limit: number): Promise<Item[]>
  work(item: Item): Promise<void>
  /** How many are worked on at once. */
  concurrency: number
  log: Logger
}

export function createLoop<Item>({ claim, work, concurrency, log }: LoopOptions<Item>): Loop {
  const looks = new Set<Promise<void>>()
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let seeking: Promise<void> | undefined
  let again = false
  let failing = false

  /** Takes what is due while there are hands free. Whoever asks meanwhile is asked for once more. */
  function seek(): Promise<void> {
    again = true
    seeking ??= take().finally(() => {
      seeking = undefined
    })
    return seeking
  }

  async function take(): Promise<void> {
    while (again && !stopped && looks.size < concurrency) {
      again = false
      const items = await claim(concurrency - looks.size)
      if (items.length > 0) again = true
      for (const item of items) begin(item)
    }
  }

  /** What is slow keeps one hand busy, and nothing else waiting. */
  function begin(item: Item): void {
    const look = work(item)
      .catch((error: unknown) => log.warn({ err: error }, 'Due work could not be given back.'))
      .finally(() => {
        looks.delete(look)
        tick()
      })
    looks.add(look)
  }

  function tick(): void {
    if (stopped) return
    seek().then(
      () => {
        failing = false
      },
      (error: unknown) => {
        // Said once, not every second for as long as the database is gone.
        if (!failing) log.warn({ err: error }, 'Due work cannot be looked for. It is tried again.')
        failing = true
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
    async idle() {
      do {
        await seek()
        await Promise.all(looks)
      } while (looks.size > 0 || seeking)
    },
    async stop() {
      stopped = true
      clearInterval(timer)
      timer = undefined
      await seeking?.catch(() => {})
      await Promise.all(looks)
    },
  }
}
