import { expect, it } from 'vitest'
import { errorCodes, isRetryable } from '../../../src/domain/errors.ts'

it('calls an error retryable that a repetition alone can mend, and no other', () => {
  expect(errorCodes.filter(isRetryable)).toEqual([
    'START_BACKOFF',
    'VOLUME_UNAVAILABLE',
    'NO_OFFER_RENTED',
    'IDEMPOTENCY_IN_PROGRESS',
    'TOO_MANY_STREAMS',
    'STREAM_ENDED',
    'UNAVAILABLE',
  ])
})
