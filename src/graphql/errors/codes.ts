// What this face makes of each error code. A new code does not compile until one of the two tables has it.

import type { ErrorCode } from '../../domain/errors.ts'

/** Codes with a type of their own, which mutations can return. */
export const refusals = {
  INVALID_INPUT: { type: 'InvalidInputError', description: 'Something in the input is wrong.' },
  NOT_FOUND: { type: 'NotFoundError', description: 'There is no such thing, or none of yours.' },
  OFFER_UNAVAILABLE: {
    type: 'OfferUnavailableError',
    description: 'The offer is not on the market, or cannot be rented now.',
  },
  BID_TOO_LOW: { type: 'BidTooLowError', description: 'The host accepts no bid as low as this.' },
  PRICE_CHANGED: { type: 'PriceChangedError', description: 'The price is higher than the most that was to be paid.' },
  INSUFFICIENT_CREDIT: {
    type: 'InsufficientCreditError',
    description: 'The account has less credit than this needs.',
  },
  SPEND_LIMIT_EXCEEDED: {
    type: 'SpendLimitExceededError',
    description: 'A limit of what is spent does not allow it.',
  },
  QUOTA_EXCEEDED: { type: 'QuotaExceededError', description: 'The account may not have more of something.' },
  START_BACKOFF: {
    type: 'StartBackoffError',
    description: 'Too many starts in a row failed. The next one must wait.',
  },
  SSH_KEY_REQUIRED: {
    type: 'SshKeyRequiredError',
    description: 'A virtual machine needs an SSH key registered before.',
  },
  INVALID_STATE: { type: 'InvalidStateError', description: 'The state of the instance does not allow it.' },
  NO_OFFER_RENTED: { type: 'NoOfferRentedError', description: 'None of the offers that match could be rented.' },
  VOLUME_UNAVAILABLE: { type: 'VolumeUnavailableError', description: 'The volume is attached to an instance.' },
  CONFLICT: { type: 'ConflictError', description: 'There is one already, or as many as there may be.' },
  IDEMPOTENCY_KEY_REUSED: {
    type: 'IdempotencyError',
    description: 'The idempotency key was used for another request, or by another API key.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    type: 'IdempotencyError',
    description: 'The first request with the idempotency key has not ended yet.',
  },
} as const satisfies Partial<Record<ErrorCode, { type: string; description: string }>>
export type RefusalCode = keyof typeof refusals

/** Codes that are only ever among the `errors` of an answer, and the status of an answer that has nothing else. */
const others: Record<Exclude<ErrorCode, RefusalCode>, { status?: number }> = {
  UNAUTHENTICATED: { status: 401 },
  FORBIDDEN: { status: 403 },
  INVALID_CURSOR: {},
  CURSOR_EXPIRED: {},
  TOO_MANY_STREAMS: { status: 429 },
  STREAM_ENDED: {},
  UNAVAILABLE: { status: 503 },
}

export function statusOf(code: ErrorCode): number | undefined {
  return isRefusalCode(code) ? undefined : others[code].status
}

export function isRefusalCode(code: ErrorCode): code is RefusalCode {
  return code in refusals
}
