// Collects the calls of one turn of the event loop, and does their work together.

import type { Logger } from 'pino'
import { failureKindOf, isUnreachable } from '../database/failure-codes.ts'
import { mayHaveCommitted } from '../database/transaction.ts'
import { type Caller, currentCaller, doFor, inSharedSpan } from '../traces/callers.ts'
import { currentOwner, type Owner, workFor } from '../turns/owners.ts'
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
  /** Whether the items of an account wait while a batch with one is in work: they need the same lock. */
  apart?: boolean
  /** Items that are done one by one at the same time. */
  singles?: number
  /** Those of one account. */
  singlesOfAccount?: number
}

/** `owner`: whose work the item is. A batch with items of many is the gateway's own. */
type Request<Item, Result> = { item: Item; owner: Owner | undefined; caller: Caller } & Pick<
  PromiseWithResolvers<Result>,
  'resolve' | 'reject'
>

const maxBatchSize = 100
/** Items that come meanwhile form the next batch, so that batches grow with the load and take few connections. */
const maxBatchesInWork = 2

/**
 * Returns a function that does the work of an item, in a batch with others. If a batch fails, its items are done one by one, so
 * that a bad item fails alone. All of them fail if the batch may have been committed, or if the database was not reached.
 */
export function createBatcher<Item extends object, Result>(
  work: BatchWork<Item, Result>,
  log: Logger,
  { parallelFrom = 1, apart = false, singles = 4, singlesOfAccount = singles }: BatchOptions = {},
): (item: Item) => Promise<Result> {
  const limitSingles = limitConcurrency(singles, singlesOfAccount)
  let waiting: Request<Item, Result>[] = []
  const inWork = new Set<readonly Request<Item, Result>[]>()
  let isScheduled = false

  function startBatches(): void {
    while (inWork.size < maxBatchesInWork) {
      const ready = readyItems()
      if (ready.length < (inWork.size > 0 ? parallelFrom : 1)) return
      const batch = ready.slice(0, maxBatchSize)
      const taken = new Set(batch)
      waiting = waiting.filter(request => !taken.has(request))
      inWork.add(batch)
      void workFor(undefined, () => runBatch(batch)).finally(() => {
        inWork.delete(batch)
        startBatches()
      })
    }
  }

  function readyItems(): Request<Item, Result>[] {
    if (!apart || inWork.size === 0) return waiting
    const busy = new Set([...inWork].flat().map(({ item }) => work.accountOf(item)))
    return waiting.filter(({ item }) => !busy.has(work.accountOf(item)))
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
    const callers = batch.map(({ caller }) => caller)
    const outcome = await inSharedSpan('batch', callers, () => work.many(batch.map(({ item }) => item))).then(
      done => ({ done, failure: undefined }),
      (failure: unknown) => ({ done: none, failure }),
    )
    const { done, failure } = outcome
    const isLost = mayHaveCommitted(failure) || isUnreachable(failure)
    // A taken lock or a refusing server is no bug of the batch. If an item fails because of it, its caller learns that.
    if (failure && failureKindOf(failure) === undefined && batch.length > 1)
      log.warn({ err: failure, items: batch.length }, 'Work on many items failed. It is done one by one.')
    for (const { item, owner, caller, resolve, reject } of batch) {
      if (done.has(item)) resolve(done.get(item) as Result)
      else if (isLost) reject(failure)
      else void limitSingles(work.accountOf(item), () => doAlone(item, owner, caller)).then(resolve, reject)
    }
  }
  const none: ReadonlyMap<Item, Result> = new Map()
  const doAlone = (item: Item, owner: Owner | undefined, caller: Caller) =>
    workFor(owner, () => doFor(caller, () => work.one(item)))

  return item => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    waiting.push({ item, owner: currentOwner(), caller: currentCaller(), resolve, reject })
    scheduleStart()
    return promise
  }
}
