import { expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { retryAdvice, retryAdviceOf } from '../../../src/domain/retry.ts'

const codesWith = (advice: string) =>
  Object.entries(retryAdvice).flatMap(([code, codeAdvice]) => (codeAdvice === advice ? code : []))

it('advises to repeat the identical request only after errors that end on their own', () => {
  expect(codesWith('later')).toEqual([
    'START_BACKOFF',
    'IDEMPOTENCY_IN_PROGRESS',
    'TOO_MANY_STREAMS',
    'RATE_LIMITED',
    'UNAVAILABLE',
  ])
})

it.each([
  ['KEY_ENDED', 'afterFix'],
  ['KEY_CHANGED', 'afterFix'],
  ['TOO_SLOW', 'later'],
  ['TOO_LONG', 'later'],
  ['GATEWAY_STOPS', 'later'],
] as const)('advises after a stream that ended with %s: %s', (ending, advice) => {
  expect(retryAdviceOf(new DomainError('STREAM_ENDED', 'Ended.', { ending }))).toBe(advice)
})

it.each([
  ['nothingMatches', 'afterFix'],
  ['tooExpensive', 'afterFix'],
  ['nothingFree', 'later'],
  ['attemptsFailed', 'later'],
] as const)('advises after a search for the best offer that ended with %s: %s', (reason, advice) => {
  const details = { attempts: [], reason, nearest: null }
  expect(retryAdviceOf(new DomainError('NO_OFFER_RENTED', 'None.', details))).toBe(advice)
})

it.each([
  [true, 'later'],
  [false, 'afterFix'],
] as const)('advises to repeat what needs a volume only while its instance is removed: %s', (removing, advice) => {
  const details = { volumeId: 1n, instanceId: 1n, removing }
  expect(retryAdviceOf(new DomainError('VOLUME_UNAVAILABLE', 'In use.', details))).toBe(advice)
})

it('calls a request hopeless only if what it names is gone or taken', () => {
  expect(codesWith('never')).toEqual(['NOT_FOUND', 'OFFER_UNAVAILABLE'])
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
