import { type Check, fail, ok, warn } from '../check.ts'

export type ReplicaFacts = {
  isStandby: boolean
  isOtherDatabase: boolean
  /** How long it took to get what the primary had; null if longer than `maxLagMs`. */
  lagMs: number | null
  maxLagMs: number
}

export function checkReplica({ isStandby, isOtherDatabase, lagMs, maxLagMs }: ReplicaFacts): Check {
  const name = 'replica'
  const advice = 'Set DATABASE_REPLICA_URL to a standby of the primary.'
  if (isOtherDatabase) return fail(name, 'DATABASE_REPLICA_URL leads to another database than DATABASE_URL.', advice)
  if (!isStandby) return warn(name, 'DATABASE_REPLICA_URL leads to a primary, which it does not relieve.', advice)
  if (lagMs === null)
    return warn(
      name,
      `The standby is more than ${maxLagMs / 1_000} s behind the primary, so the primary answers all reads.`,
      'Look at pg_stat_replication on the primary, or raise REPLICA_MAX_LAG_SECONDS.',
    )
  return ok(name, `The standby was ${Math.round(lagMs)} ms behind the primary.`)
}
