export const spendLimitWindows = ['hour', 'day', 'month'] as const
/** `hour` limits a rate: the cost per hour of all instances that should run, running or not, and of all disks. */
export type SpendWindow = (typeof spendLimitWindows)[number]
/**
 * Every action records an event. `block_new` and `stop_running` also refuse new costs; `stop_running` stops instances,
 * too.
 */
export type SpendAction = 'block_new' | 'stop_running' | 'notify'

export type SpendLimit = {
  id: number
  /** The key whose instances and volumes count; null to count the whole account. */
  apiKeyId: number | null
  window: SpendWindow
  amountNanos: bigint
  action: SpendAction
  /** Whether an operator set it. The account cannot change it, and has its own limits beside it. */
  cap: boolean
  createdAt: Date
  /**
   * When the current amount and action were set. Earlier spending in the window counts, but the limit is never reached
   * before this instant.
   */
  updatedAt: Date
  /** When the limit was last reached. For `hour`: null again as soon as the rate is within the limit. */
  reachedAt: Date | null
}

/** `reachedAt` also tells of a limit that is reached now, and not recorded yet. */
export type SpendUsage = { usedNanos: bigint; reachedAt: Date | null }
export type SpendLimitWithUsage = SpendLimit & SpendUsage
