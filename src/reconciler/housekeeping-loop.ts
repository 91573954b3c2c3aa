import type { Logger } from 'pino'
import { createLoop, type Loop } from './loop.ts'

type HousekeepingLoopDeps = {
  /** Chores by name. Each deletes at most `limit` rows, and returns how many it deleted. */
  chores: Record<string, (limit: number) => Promise<number>>
  now: () => Date
  log: Logger
}

const intervalMs = 60_000
/** Rows per batch. Few, because other transactions may wait for the locks of a batch. */
const batchSize = 1_000

/** Runs the chores every minute, one after another. The chores skip what another gateway is deleting. */
export function createHousekeepingLoop({ chores, now, log }: HousekeepingLoopDeps): Loop {
  let last = Number.NEGATIVE_INFINITY
  let stopped = false
  const loop = createLoop<typeof chores>({
    name: 'housekeeping',
    async leaseDue() {
      const at = now().getTime()
      // Absolute, since the clock may have been set back.
      if (Math.abs(at - last) < intervalMs) return []
      last = at
      return [chores]
    },
    async work(all) {
      for (const [name, chore] of Object.entries(all)) {
        try {
          while (!stopped && (await chore(batchSize)) === batchSize);
        } catch (error) {
          log.warn({ err: error, chore: name }, 'A housekeeping chore failed. The gateway tries it again in a minute.')
        }
      }
    },
    concurrency: 1,
    log,
  })

  return {
    ...loop,
    /** Finishes the current batch. The rest waits for the next start. */
    async stop() {
      stopped = true
      await loop.stop()
    },
  }
}
