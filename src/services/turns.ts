// Accounts take turns, so that one with many streams delays another by at most one turn.

import { createTurnQueue } from '../turns/queue.ts'

/** Runs the work of an account, or keeps it until there is a free slot. */
export type LimitConcurrency = <Value>(accountId: number, work: () => Promise<Value>) => Promise<Value>

/** Runs at most `limit` calls at once, and at most `perAccount` of one account. For further calls the accounts take turns. */
export function limitConcurrency(limit: number, perAccount = limit): LimitConcurrency {
  const waiting = createTurnQueue<number, () => void>()
  const running = new Map<number, number>()
  let free = limit
  const mayStart = (accountId: number) => free > 0 && (running.get(accountId) ?? 0) < perAccount
  const start = (accountId: number) => {
    free -= 1
    running.set(accountId, (running.get(accountId) ?? 0) + 1)
  }
  const end = (accountId: number) => {
    free += 1
    const others = (running.get(accountId) ?? 1) - 1
    if (others > 0) running.set(accountId, others)
    else running.delete(accountId)
  }
  return async (accountId, work) => {
    if (mayStart(accountId)) start(accountId)
    else
      await new Promise<void>(resolve =>
        waiting.add(accountId, () => {
          // At once, so that a new call cannot take the slot first.
          start(accountId)
          resolve()
        }),
      )
    try {
      return await work()
    } finally {
      end(accountId)
      waiting.next(mayStart)?.()
    }
  }
}
