import type { Reason } from '../../domain/instances/instances.ts'
import type { InstanceStatus, Restart } from '../../domain/instances/states.ts'

/** What was seen and decided. */
export type Finding = {
  status: InstanceStatus
  reason: Reason | undefined
  /** It runs, or did when it was looked at. */
  ran: boolean
  /** Its container uses no GPU: whoever waits for them may start. */
  inactive: boolean
  /** When its container ended by itself: null where that is not known, and left out where it did not. */
  endedAt?: Date | null
  /** It was destroyed, and its container is gone. */
  gone: boolean
  /** Its machine answered what it was asked last. */
  answered: boolean
  /** When its machine was asked last what it answered with how it is; null where it did not. */
  seenAt: Date | null
  /** Its machine owes the answer that it is down, for too long. */
  unconfirmed: boolean
  /** It could not be looked at, or nothing be done for it. */
  failed: boolean
  /** What is left of a restart that was asked for; undefined for what was. */
  restart?: Restart | null | undefined
  /** When to look again; null for when somebody wishes otherwise. */
  dueAt: Date | null
}
