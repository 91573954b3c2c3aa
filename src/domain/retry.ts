import type { DetailsOf, DomainError, ErrorCode } from './errors.ts'

/**
 * What a caller can do after an error. `never`: the same request can never succeed. `afterFix`: it can, once the caller has
 * changed the request or what the message names. `later`: the identical request can succeed without a change.
 */
export type RetryAdvice = 'never' | 'afterFix' | 'later'

/** The advice of each code, or how its details decide. */
export const retryAdvice: { [Code in ErrorCode]: RetryAdvice | ((details: DetailsOf[Code]) => RetryAdvice) } = {
  UNAUTHENTICATED: 'afterFix',
  ACCOUNT_DISABLED: 'afterFix',
  FORBIDDEN: 'afterFix',
  NOT_FOUND: 'never',
  INVALID_INPUT: 'afterFix',
  INVALID_CURSOR: 'afterFix',
  // The offer stays unavailable: the caller must search for another.
  OFFER_UNAVAILABLE: 'never',
  BID_TOO_LOW: 'afterFix',
  PRICE_CHANGED: 'afterFix',
  INSUFFICIENT_CREDIT: 'afterFix',
  // A limit per hour does not end: something that costs money has to.
  SPEND_LIMIT_EXCEEDED: ({ retryAfter }) => (retryAfter ? 'later' : 'afterFix'),
  QUOTA_EXCEEDED: 'afterFix',
  // The details say when to retry.
  START_BACKOFF: 'later',
  SSH_KEY_REQUIRED: 'afterFix',
  INVALID_STATE: ({ cause }) => (cause === 'destroyed' ? 'never' : 'afterFix'),
  // An instance keeps its volume until the renter destroys it, and then for a moment.
  VOLUME_UNAVAILABLE: ({ removing }) => (removing ? 'later' : 'afterFix'),
  // What nothing matches now, at this price, nothing matches soon.
  NO_OFFER_RENTED: ({ reason }) => (reason === 'nothingFree' || reason === 'attemptsFailed' ? 'later' : 'afterFix'),
  IDEMPOTENCY_KEY_REUSED: 'afterFix',
  // The first request ends within seconds. A repetition then gets its result.
  IDEMPOTENCY_IN_PROGRESS: 'later',
  CONFLICT: 'afterFix',
  CURSOR_EXPIRED: 'afterFix',
  // Another stream of the key may end.
  TOO_MANY_STREAMS: 'later',
  RATE_LIMITED: 'later',
  STREAM_ENDED: ({ ending }) => (ending === 'KEY_ENDED' || ending === 'KEY_CHANGED' ? 'afterFix' : 'later'),
  UNAVAILABLE: 'later',
}

/** What the caller of a failed request can do. */
export function retryAdviceOf<Code extends ErrorCode>({ code, details }: ErrorFacts<Code>): RetryAdvice {
  const advice = retryAdvice[code]
  return typeof advice === 'function' ? advice(details) : advice
}

/** Earliest time at which repeating the request is worthwhile; null if that is not known. */
export function retryAfterOf({ details }: Pick<DomainError, 'details'>): Date | null {
  return details && 'retryAfter' in details ? details.retryAfter : null
}

type ErrorFacts<Code extends ErrorCode> = { code: Code; details: DetailsOf[Code] }
