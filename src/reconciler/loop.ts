import type { Lease } from '../services/leases.ts'
import { type Deps, reconcile } from './reconcile.ts'

export type Reconciler = {
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
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let running: Promise<void> | undefined
  let again = false

  /** One pass at a time. Whoever asks during a pass gets another one after it. */
  function pass(): Promise<void> {
    if (running) again = true
    running ??= drain().finally(() => {
      running = undefined
    })
    return running
  }

  async function drain(): Promise<void> {
    do {
      again = false
      for (;;) {
        const leases = stopped ? [] : await deps.reconciliation.claim(concurrency)
        if (leases.length === 0) break
        await Promise.all(leases.map((lease: Lease) => reconcile(deps, lease)))
      }
    } while (again && !stopped)
  }

  function tick(): void {
    pass().catch((error: unknown) => deps.log.warn({ err: error }, 'Due work could not be looked for.'))
  }

  return {
    start() {
      timer = setInterval(tick, pollMs)
      tick()
    },
    wake() {
      if (timer) tick()
    },
    idle: () => pass(),
    async stop() {
      stopped = true
      clearInterval(timer)
      timer = undefined
      await running?.catch(() => {})
    },
  }
}
