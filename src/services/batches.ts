// Collects the calls of one turn of the event loop, and does their work together.

import type { Logger } from 'pino'
import { limitConcurrency } from './turns.ts'

export type BatchWork<Item, Result> = {
  /**
   * Does the work of many items. Leaves out those that must be done one by one, such as an item whose rows another
   * transaction has locked: it would hold up the others.
   */
  many(items: readonly Item[]): Promise<ReadonlyMap<Item, Result>>
  one(item: Item): Promise<Result>
  /** The account of an item. Accounts take turns with items that are done one by one. */
  accountOf(item: Item): number
}

type Request<Item, Result> = { item: Item } & Pick<PromiseWithResolvers<Result>, 'resolve' | 'reject'>

const maxBatchSize = 100
/** Items that come meanwhile form the next batch, so that batches grow with the load and take few connections. */
const maxBatchesInWork = 2
const maxSinglesInWork = 4

/**
 * Returns a function that does the work of an item, in a batch with others. If a batch fails, its items are done one by one, so
 * that a bad item fails alone.
 */
export function createBatcher<Item extends object, Result>(
  work: BatchWork<Item, Result>,
  log: Logger,
): (item: Item) => Promise<Result> {
  const limitSingles = limitConcurrency(maxSinglesInWork)
  let waiting: Request<Item, Result>[] = []
  let batchesInWork = 0

  function startBatches(): void {
    while (waiting.length > 0 && batchesInWork < maxBatchesInWork) {
      const batch = waiting.slice(0, maxBatchSize)
      waiting = waiting.slice(maxBatchSize)
      batchesInWork += 1
      void runBatch(batch).finally(() => {
        batchesInWork -= 1
        startBatches()
      })
    }
  }

  async function runBatch(batch: readonly Request<Item, Result>[]): Promise<void> {
    const done = await work.many(batch.map(({ item }) => item)).catch((error: unknown) => {
      log.warn({ err: error, items: batch.length }, 'Work on many items failed. It is done one by one.')
      return none
    })
    for (const { item, resolve, reject } of batch) {
      if (done.has(item)) resolve(done.get(item) as Result)
      else void limitSingles(work.accountOf(item), () => work.one(item)).then(resolve, reject)
    }
  }
  const none: ReadonlyMap<Item, Result> = new Map()

  return item => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    waiting.push({ item, resolve, reject })
    // In `nextTick` of a promise job: all promise jobs of this turn have asked by then.
    if (waiting.length === 1) void Promise.resolve().then(() => process.nextTick(startBatches))
    return promise
  }
}
