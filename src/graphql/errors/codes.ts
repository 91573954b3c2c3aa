// How GraphQL presents each error code. A new code of a service does not compile until one of two tables has it.

import type { ErrorCode } from '../../domain/errors.ts'
import type { RetryAdvice } from '../../domain/retry.ts'

/** `type`: the name of its object type. `status`: the HTTP status of an answer that is only this error. */
type Presentation = { type?: string; status?: number }

/** Codes with an object type, which mutations and quotes can return. */
export const refusals = {
  INVALID_INPUT: { type: 'InvalidInputError', description: 'The input is invalid.' },
  NOT_FOUND: { type: 'NotFoundError', description: 'The item does not exist, or it belongs to another account.' },
  OFFER_UNAVAILABLE: {
    type: 'OfferUnavailableError',
    description: 'The offer is off the market, or it cannot be rented now.',
  },
  BID_TOO_LOW: { type: 'BidTooLowError', description: 'The bid is below the minimum that the host accepts.' },
  PRICE_CHANGED: {
    type: 'PriceChangedError',
    description: 'The current price is above the maximum price in the request.',
  },
  INSUFFICIENT_CREDIT: {
    type: 'InsufficientCreditError',
    description: 'The account has less credit than the request needs.',
  },
  SPEND_LIMIT_EXCEEDED: {
    type: 'SpendLimitExceededError',
    description: 'The request would exceed a spend limit.',
  },
  QUOTA_EXCEEDED: { type: 'QuotaExceededError', description: 'The request would exceed a quota of the account.' },
  START_BACKOFF: {
    type: 'StartBackoffError',
    description: 'Too many starts in a row failed. The next start must wait.',
  },
  SSH_KEY_REQUIRED: {
    type: 'SshKeyRequiredError',
    description: 'A virtual machine needs an SSH key that the account has before the rental.',
  },
  INVALID_STATE: { type: 'InvalidStateError', description: 'The state of the instance does not allow the request.' },
  NO_OFFER_RENTED: { type: 'NoOfferRentedError', description: 'No matching offer could be rented.' },
  VOLUME_UNAVAILABLE: { type: 'VolumeUnavailableError', description: 'The volume is attached to an instance.' },
  CONFLICT: {
    type: 'ConflictError',
    description: 'The item exists already or has changed, or the account has the maximum number of such items.',
  },
  // Only a quote shows it so: elsewhere it is in the `errors` of an answer.
  FORBIDDEN: { type: 'ForbiddenError', description: 'The API key lacks a permission.', status: 403 },
  IDEMPOTENCY_KEY_REUSED: {
    type: 'IdempotencyError',
    description:
      'The idempotency key was used for another request, by another API key, or for an item or a secret that no longer exists.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    type: 'IdempotencyError',
    description: 'The first request with the idempotency key is still running.',
  },
} as const satisfies Partial<Record<ErrorCode, Presentation & { type: string; description: string }>>
export type RefusalCode = keyof typeof refusals

/** Codes that appear only in the `errors` of an answer. */
const others: Record<Exclude<ErrorCode, RefusalCode>, Presentation> = {
  UNAUTHENTICATED: { status: 401 },
  ACCOUNT_DISABLED: { status: 403 },
  INVALID_CURSOR: {},
  CURSOR_EXPIRED: {},
  TOO_MANY_STREAMS: { status: 429 },
  RATE_LIMITED: { status: 429 },
  STREAM_ENDED: {},
  UNAVAILABLE: { status: 503 },
}

const presentations: Record<ErrorCode, Presentation> = { ...refusals, ...others }

export function statusOf(code: ErrorCode): number | undefined {
  return presentations[code].status
}

export function isRefusalCode(code: ErrorCode): code is RefusalCode {
  return code in refusals
}

/** Codes of errors that no service knows, and what the caller can do. */
export const faceErrors = {
  BAD_REQUEST: 'afterFix',
  GRAPHQL_PARSE_FAILED: 'afterFix',
  GRAPHQL_VALIDATION_FAILED: 'afterFix',
  OPERATION_RESOLUTION_FAILURE: 'afterFix',
  BAD_USER_INPUT: 'afterFix',
  COST_LIMIT_EXCEEDED: 'afterFix',
  ANSWER_TOO_LARGE: 'afterFix',
  // A bug: the same request meets it again.
  INTERNAL_SERVER_ERROR: 'never',
} as const satisfies Record<string, RetryAdvice>
export type FaceErrorCode = keyof typeof faceErrors

export function isFaceErrorCode(code: unknown): code is FaceErrorCode {
  return typeof code === 'string' && Object.hasOwn(faceErrors, code)
}
