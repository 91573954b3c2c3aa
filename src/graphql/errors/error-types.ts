import { type DomainError, type ErrorCode, isRetryable } from '../../domain/errors.ts'
import { builder } from '../builder.ts'

const codes = {
  INVALID_INPUT: { description: 'Something in the input is wrong.' },
  NOT_FOUND: { description: 'There is no such thing, or none of yours.' },
  OFFER_UNAVAILABLE: { description: 'The offer is not on the market, or cannot be rented now.' },
  BID_TOO_LOW: { description: 'The host accepts no bid as low as this.' },
  PRICE_CHANGED: { description: 'The price is higher than the most that was to be paid.' },
  INSUFFICIENT_CREDIT: { description: 'The account has less credit than this needs.' },
  SPEND_LIMIT_EXCEEDED: { description: 'A limit of what is spent does not allow it.' },
  QUOTA_EXCEEDED: { description: 'The account may not have more of something.' },
  START_BACKOFF: { description: 'Too many starts in a row failed. The next one must wait.' },
  SSH_KEY_REQUIRED: { description: 'A virtual machine needs an SSH key registered before.' },
  INVALID_STATE: { description: 'The state of the instance does not allow it.' },
  NO_OFFER_RENTED: { description: 'None of the offers that match could be rented.' },
  VOLUME_UNAVAILABLE: { description: 'The volume is attached to an instance.' },
  CONFLICT: { description: 'There is one already, or as many as there may be.' },
  IDEMPOTENCY_KEY_REUSED: { description: 'The idempotency key was used for another request, or by another API key.' },
  IDEMPOTENCY_IN_PROGRESS: { description: 'The first request with the idempotency key has not ended yet.' },
} as const satisfies Partial<Record<ErrorCode, { description: string }>>
export type RefusalCode = keyof typeof codes

export const typeNames = {
  INVALID_INPUT: 'InvalidInputError',
  NOT_FOUND: 'NotFoundError',
  OFFER_UNAVAILABLE: 'OfferUnavailableError',
  BID_TOO_LOW: 'BidTooLowError',
  PRICE_CHANGED: 'PriceChangedError',
  INSUFFICIENT_CREDIT: 'InsufficientCreditError',
  SPEND_LIMIT_EXCEEDED: 'SpendLimitExceededError',
  QUOTA_EXCEEDED: 'QuotaExceededError',
  START_BACKOFF: 'StartBackoffError',
  SSH_KEY_REQUIRED: 'SshKeyRequiredError',
  INVALID_STATE: 'InvalidStateError',
  NO_OFFER_RENTED: 'NoOfferRentedError',
  VOLUME_UNAVAILABLE: 'VolumeUnavailableError',
  CONFLICT: 'ConflictError',
  IDEMPOTENCY_KEY_REUSED: 'IdempotencyError',
  IDEMPOTENCY_IN_PROGRESS: 'IdempotencyError',
} as const satisfies Record<RefusalCode, string>

export const ErrorCodeEnum = builder.enumType('ErrorCode', { description: 'What a refusal is about.', values: codes })

/** A refusal as a value, since whatever is an Error fails the field that it is returned from. */
export type Refused = Pick<DomainError, 'code' | 'message' | 'details'>

export const Refusal = builder.interfaceRef<Refused>('Error').implement({
  description: 'Why something was not done. Nothing of it was.',
  fields: t => ({
    code: t.field({
      type: ErrorCodeEnum,
      description: 'For programs.',
      resolve: ({ code }) => code as RefusalCode,
    }),
    message: t.exposeString('message', { description: 'For people.' }),
    retryable: t.boolean({
      description:
        'Whether the same request may succeed by itself when it is repeated later. Where it is false, change something first: the request, or what the message names.',
      resolve: ({ code }) => isRetryable(code),
    }),
  }),
})
