import { expect, it } from 'vitest'
import { DomainError, retryable } from '../../../src/domain/errors.ts'

it('calls an error retryable that a repetition alone can mend, and no other', () => {
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

it('is not made without the details of its code, and has them where the code is checked', () => {
  // @ts-expect-error The least bid is missing.
  expect(new DomainError('BID_TOO_LOW', 'Too low.').details).toBeUndefined()
  // @ts-expect-error These are the details of another code.
  expect(new DomainError('BID_TOO_LOW', 'Too low.', { currentPriceNanos: 1n }).code).toBe('BID_TOO_LOW')
  const error: unknown = new DomainError('BID_TOO_LOW', 'Too low.', { minimumBidNanos: 5n })
  const least: bigint | undefined =
    error instanceof DomainError && error.code === 'BID_TOO_LOW' ? error.details.minimumBidNanos : undefined
  expect(least).toBe(5n)
})
