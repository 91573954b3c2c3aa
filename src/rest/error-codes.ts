import type { ErrorCode } from '../domain/errors.ts'
import type { DocumentedFailure } from './route.ts'

/** The status and the `error` of each domain error code. */
export const restErrors: Record<ErrorCode, { status: number; error: string }> = {
  UNAUTHENTICATED: { status: 401, error: 'auth_error' },
  ACCOUNT_DISABLED: { status: 403, error: 'account_disabled' },
  FORBIDDEN: { status: 403, error: 'forbidden' },
  NOT_FOUND: { status: 404, error: 'not_found' },
  INVALID_INPUT: { status: 400, error: 'invalid_args' },
  INVALID_CURSOR: { status: 400, error: 'invalid_args' },
  OFFER_UNAVAILABLE: { status: 404, error: 'no_such_ask' },
  BID_TOO_LOW: { status: 400, error: 'invalid_price' },
  PRICE_CHANGED: { status: 409, error: 'price_changed' },
  INSUFFICIENT_CREDIT: { status: 400, error: 'insufficient_credit' },
  SPEND_LIMIT_EXCEEDED: { status: 400, error: 'spend_limit_exceeded' },
  QUOTA_EXCEEDED: { status: 400, error: 'quota_exceeded' },
  // Not 429, which clients retry on their own.
  START_BACKOFF: { status: 409, error: 'start_backoff' },
  SSH_KEY_REQUIRED: { status: 400, error: 'no_ssh_key_for_vm' },
  INVALID_STATE: { status: 400, error: 'invalid_state' },
  VOLUME_UNAVAILABLE: { status: 409, error: 'volume_in_use' },
  NO_OFFER_RENTED: { status: 404, error: 'no_such_ask' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, error: 'idempotency_key_reused' },
  IDEMPOTENCY_IN_PROGRESS: { status: 409, error: 'idempotency_in_progress' },
  CONFLICT: { status: 409, error: 'conflict' },
  CURSOR_EXPIRED: { status: 400, error: 'invalid_args' },
  RATE_LIMITED: { status: 429, error: 'rate_limited' },
  TOO_MANY_STREAMS: { status: 429, error: 'rate_limited' },
  STREAM_ENDED: { status: 503, error: 'unavailable' },
  UNAVAILABLE: { status: 503, error: 'unavailable' },
}

/** The failure that a route documents for a code. `when` says when the route answers it. */
export function documentedFailureOf(code: ErrorCode, when: string): DocumentedFailure {
  return { ...restErrors[code], when }
}
