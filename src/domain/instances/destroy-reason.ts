import { printId } from '../ids.ts'
import type { Reason, TargetReason } from './instances.ts'

/** Who is to be named as having done something, and why it was done. Without a key, Berth itself did it. */
export type Cause = {
  apiKeyId?: number
  reason: TargetReason
  /** What its renter reads where it is destroyed. */
  message?: string
}

/** Why an instance is destroyed. It replaces the reason of the status that it had before. */
export function destroyReason({ reason, message, apiKeyId }: Cause): Reason {
  const onRequest = 'It was destroyed on request'
  const byKey =
    apiKeyId === undefined ? `${onRequest}.` : `${onRequest}, with the API key ${printId('ApiKey', apiKeyId)}.`
  return { code: reason, message: message ?? byKey }
}
