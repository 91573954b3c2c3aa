import { expect, it } from 'vitest'
import { DomainError, retryable } from '../../../src/domain/errors.ts'

it('calls only those errors retryable for which repeating the identical request can succeed', () => {
  const codes = Object.entries(retryable).flatMap(([code, isRetryable]) => (isRetryable ? code : []))
  expect(codes).toEqual([
    'START_BACKOFF',
    'VOLUME_UNAVAILABLE',
    'NO_OFFER_RENTED',
    'IDEMPOTENCY_IN_PROGRESS',
    'TOO_MANY_STREAMS',
    'STREAM_ENDED',
    'UNAVAILABLE',
  ])
})

it('requires the details of an error code, and narrows them by the code', () => {
  // @ts-expect-error The least bid is missing.
  expect(new DomainError('BID_TOO_LOW', 'Too low.').details).toBeUndefined()
  // @ts-expect-error These are the details of another code.
  expect(new DomainError('BID_TOO_LOW', 'Too low.', { currentPriceNanos: 1n }).code).toBe('BID_TOO_LOW')
  const error: unknown = new DomainError('BID_TOO_LOW', 'Too low.', { minimumBidNanos: 5n })
  const least: bigint | undefined =
    error instanceof DomainError && error.code === 'BID_TOO_LOW' ? error.details.minimumBidNanos : undefined
  expect(least).toBe(5n)
})
