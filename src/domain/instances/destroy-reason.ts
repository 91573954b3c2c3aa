import type { EventActor } from '../events/actor.ts'
import { printId } from '../ids.ts'
import type { Reason } from '../reasons.ts'
import type { TargetReason } from './instances.ts'

/** Who caused a change, and why. */
export type Cause = {
  actor: EventActor
  reason: TargetReason
  /** The status message of the instance once it is stopped or destroyed. */
  message?: string
  /** What the operator wrote, for the event. */
  note?: string
}

/** The reason of a destroyed instance. It replaces the reason of the status before. */
export function destroyReason({ reason, message, actor }: Cause): Reason {
  const onRequest = 'The instance was destroyed on request'
  const byKey =
    actor.kind === 'api_key' ? `${onRequest}, with the API key ${printId('ApiKey', actor.apiKeyId)}.` : `${onRequest}.`
  return { code: reason, message: message ?? byKey }
}
