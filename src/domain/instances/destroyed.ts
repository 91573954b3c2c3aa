import { printId } from '../ids.ts'
import type { Reason, WishReason } from './instances.ts'

/** Who is to be named as having done something, and why it was done. Without a key, Berth itself did it. */
export type Cause = {
  apiKeyId?: number
  reason: WishReason
  /** What its renter reads where it is destroyed. */
  message?: string
}

/** Why an instance is destroyed. It replaces the reason of the status that it had before. */
export function destroyedFor({ reason, message, apiKeyId }: Cause): Reason {
  const asked = 'It was destroyed on request'
  const byKey = apiKeyId === undefined ? `${asked}.` : `${asked}, with the API key ${printId('ApiKey', apiKeyId)}.`
  return { code: reason, message: message ?? byKey }
}
