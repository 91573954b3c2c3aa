import { printId } from '../ids.ts'
import type { Reason, TargetReason } from './instances.ts'

/** Who caused a change, and why. Without a key, Berth itself did. */
export type Cause = {
  apiKeyId?: number
  reason: TargetReason
  /** The status message of a destroyed instance. */
  message?: string
}

/** The reason of a destroyed instance. It replaces the reason of the status before. */
export function destroyReason({ reason, message, apiKeyId }: Cause): Reason {
  const onRequest = 'The instance was destroyed on request'
  const byKey =
    apiKeyId === undefined ? `${onRequest}.` : `${onRequest}, with the API key ${printId('ApiKey', apiKeyId)}.`
  return { code: reason, message: message ?? byKey }
}
