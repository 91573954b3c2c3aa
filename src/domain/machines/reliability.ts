// The reliability of a machine: what its operator stated when it was listed, lowered by what happened in the last 30 days.

/** What is older than this does not count. */
export const keptHistoryMs = 30 * 86_400_000

/** So many accounts whose starts failed halve the reliability. */
const halvingAccounts = 20

/** What happened to a machine in the last 30 days. */
export type MachineHistory = {
  /** How long it did not answer. */
  silentSeconds: number
  /** How many accounts had starts that failed because of it. Of each account one counts, so that none can do much harm. */
  failedAccounts: number
}

/** Without any failure, the machine has the reliability that it was listed with. */
export function reliabilityOf(listed: number, { silentSeconds, failedAccounts }: MachineHistory): number {
  const upShare = 1 - Math.min((silentSeconds * 1_000) / keptHistoryMs, 1)
  return (listed * upShare * halvingAccounts) / (halvingAccounts + failedAccounts)
}

/** Smaller changes are not written: each changes the machine's offers in the indexes of searches. */
const leastChange = 0.001

/** Whether a machine should get another reliability. One without failures gets exactly what it was listed with. */
export function isReliabilityOutdated(current: number, next: number, listed: number): boolean {
  return Math.abs(current - next) >= leastChange || (next === listed && current !== listed)
}
