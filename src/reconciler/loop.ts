import type { Lease } from '../services/leases.ts'
import { type Deps, reconcile } from './reconcile.ts'

type Reconciler = {
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

export function createReconciler(deps: Deps): Reconciler {
  const { reconciliation, log } = deps
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
      const leases = await reconciliation.claim(concurrency - looks.size)
      if (leases.length > 0) again = true
      for (const lease of leases) begin(lease)
    }
  }

  /** One slow machine keeps one hand busy, and no other instance waiting. */
  function begin(lease: Lease): void {
    const look = reconcile(deps, lease)
      .catch((error: unknown) => log.warn({ err: error }, 'An instance could not be given back.'))
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
