// Collects the calls of one turn of the event loop, and does their work together.

import type { Logger } from 'pino'
import { mayHaveCommitted } from '../database/transaction.ts'
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

export type BatchOptions = {
  /** A second batch begins beside the one in work once this many items wait. */
  parallelFrom?: number
  /** Items that are done one by one at the same time. */
  singles?: number
}

type Request<Item, Result> = { item: Item } & Pick<PromiseWithResolvers<Result>, 'resolve' | 'reject'>

const maxBatchSize = 100
/** Items that come meanwhile form the next batch, so that batches grow with the load and take few connections. */
const maxBatchesInWork = 2

/**
 * Returns a function that does the work of an item, in a batch with others. If a batch fails, its items are done one by one, so
 * that a bad item fails alone. But if the batch may have been committed, all of its items fail.
 */
export function createBatcher<Item extends object, Result>(
  work: BatchWork<Item, Result>,
  log: Logger,
  { parallelFrom = 1, singles = 4 }: BatchOptions = {},
): (item: Item) => Promise<Result> {
  const limitSingles = limitConcurrency(singles)
  let waiting: Request<Item, Result>[] = []
  let batchesInWork = 0
  let isScheduled = false

  function startBatches(): void {
    while (waiting.length >= (batchesInWork > 0 ? parallelFrom : 1) && batchesInWork < maxBatchesInWork) {
      const batch = waiting.slice(0, maxBatchSize)
      waiting = waiting.slice(batch.length)
      batchesInWork += 1
      void runBatch(batch).finally(() => {
        batchesInWork -= 1
        startBatches()
      })
    }
  }

  /** In `nextTick` of a promise job: all promise jobs of this turn have asked by then. */
  function scheduleStart(): void {
    if (isScheduled) return
    isScheduled = true
    void Promise.resolve().then(() =>
      process.nextTick(() => {
        isScheduled = false
        startBatches()
      }),
    )
  }

  async function runBatch(batch: readonly Request<Item, Result>[]): Promise<void> {
    const outcome = await work.many(batch.map(({ item }) => item)).then(
      done => ({ done, failure: undefined }),
      (failure: unknown) => ({ done: none, failure }),
    )
    const { done, failure } = outcome
    if (failure && batch.length > 1)
      log.warn({ err: failure, items: batch.length }, 'Work on many items failed. It is done one by one.')
    for (const { item, resolve, reject } of batch) {
      if (done.has(item)) resolve(done.get(item) as Result)
      else if (mayHaveCommitted(failure)) reject(failure)
      else void limitSingles(work.accountOf(item), () => work.one(item)).then(resolve, reject)
    }
  }
  const none: ReadonlyMap<Item, Result> = new Map()

  return item => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    waiting.push({ item, resolve, reject })
    scheduleStart()
    return promise
  }
}
