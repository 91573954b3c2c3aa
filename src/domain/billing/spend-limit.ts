export const spendLimitWindows = ['hour', 'day', 'month'] as const
/** `hour` is a rate: what everything costs per hour that is wished to run, whether it does yet or not, and all disks. */
export type SpendWindow = (typeof spendLimitWindows)[number]
/** Both others tell, too, and `stop_running` refuses what is new, as `block_new` does. */
export type SpendAction = 'block_new' | 'stop_running' | 'notify'

export type SpendLimit = {
  id: number
  /** The key of which only what it rented and made counts; null where all of the account's counts. */
  apiKeyId: number | null
  window: SpendWindow
  amountNanos: bigint
  action: SpendAction
  /** When it was set as it is. What was spent before counts, but nothing happens for it before. */
  createdAt: Date
  /** When it was last reached. A rate: null as soon as it is kept again. */
  reachedAt: Date | null
}

/** A limit, and how much of it is used. */
export type SpendLimitWithUsage = SpendLimit & { usedNanos: bigint }
