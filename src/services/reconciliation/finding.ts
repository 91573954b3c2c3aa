import type { StartFault } from '../../domain/instances/containers.ts'
import type { InstanceStatus, Restart } from '../../domain/instances/states.ts'
import type { Reason } from '../../domain/reasons.ts'
import type { InstanceLease } from './leases.ts'

/** The result of a pass: what it observed and decided. */
export type Finding = {
  status: InstanceStatus
  reason: Reason | undefined
  /** Whether the pass observed the container as running. */
  ran: boolean
  /** Whether the container may be using its GPUs. If not, instances that wait for these GPUs may start. */
  usesGpus: boolean
  /**
   * Set if the container exited, failed or is absent: when it exited, or null if unknown. Counts only if the instance was
   * recorded as running: see `updateMeters`.
   */
  endedAt?: Date | null
  /** Who kept the container from being made or started, as its machine says; absent if the renter did. */
  fault?: StartFault
  /** Whether the instance is destroyed and its container is gone. */
  gone: boolean
  /** Whether the machine answered the last call. */
  answered: boolean
  /** When the pass last asked the machine and got an answer; null if it got none. */
  seenAt: Date | null
  /** Whether the machine has not confirmed a stop within `confirmMs`. */
  unconfirmed: boolean
  /** Whether the machine did not answer or refused a step, so that the pass is retried with a backoff. */
  needsRetry: boolean
  /** The remaining part of a restart; undefined if unchanged. */
  restart?: Restart | null | undefined
  /** When the next pass is due; null if only a change of the desired state makes one due. */
  dueAt: Date | null
}

export type LeasedFinding = { lease: InstanceLease; finding: Finding }
