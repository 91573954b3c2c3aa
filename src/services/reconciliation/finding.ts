import type { Reason } from '../../domain/instances/instances.ts'
import type { InstanceStatus, Restart } from '../../domain/instances/states.ts'

/** The result of a pass: what it observed and decided. */
export type Finding = {
  status: InstanceStatus
  reason: Reason | undefined
  /** Whether the pass observed the container as running. */
  ran: boolean
  /** Whether the container may be using its GPUs. If not, instances that wait for these GPUs may start. */
  usesGpus: boolean
  /**
   * Set if no container runs: when the container exited, or null if that is unknown or if there never was a container.
   * The instant is an end only for an instance that was recorded as running.
   */
  endedAt?: Date | null
  /** Whether the instance is destroyed and its container is gone. */
  gone: boolean
  /** Whether the machine answered the last call. */
  answered: boolean
  /** When the pass sent the last observation that the machine answered; null if none was answered. */
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
