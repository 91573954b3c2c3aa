import type { Logger } from 'pino'
import { createLoop, type Loop } from './loop.ts'

export type HousekeepingLoopDeps = {
  /** What is done, by name: each deletes so many things at most, and answers how many there were. */
  chores: Record<string, (limit: number) => Promise<number>>
  now: () => Date
  log: Logger
}

const intervalMs = 60_000
/** So much at once: whoever waits for what is locked meanwhile waits for no more. */
const batchSize = 1_000

/** Every minute, one after the other. What one gateway is at, the others leave to it. */
export function createHousekeepingLoop({ chores, now, log }: HousekeepingLoopDeps): Loop {
  let last = Number.NEGATIVE_INFINITY
  let stopped = false
  const loop = createLoop<typeof chores>({
    name: 'housekeeping',
    async claim() {
      const at = now().getTime()
      // The clock may have been put back: nobody waits for it to come round again.
      if (Math.abs(at - last) < intervalMs) return []
      last = at
      return [chores]
    },
    async work(all) {
      for (const [name, chore] of Object.entries(all)) {
        try {
          while (!stopped && (await chore(batchSize)) === batchSize);
        } catch (error) {
          log.warn({ err: error, chore: name }, 'A chore was not done. It is tried again in a minute.')
        }
      }
    },
    concurrency: 1,
    log,
  })

  return {
    ...loop,
    /** The piece at hand is done; the rest is left to the next start. */
    async stop() {
      stopped = true
      await loop.stop()
    },
  }
}
