import { z } from 'zod'
import { maxBodyBytes } from '../http/body.ts'
import { documentedFailureOf, restErrors } from './error-codes.ts'
import type { DocumentedFailure, Route } from './route.ts'
import { text } from './values.ts'

export const failureBody = z
  .object({
    success: z.literal(false).describe('Always false.'),
    error: text('Machine-readable error code.'),
    msg: text('Error message for people.'),
  })
  .meta({ id: 'Failure', description: 'The body of every failure.' })

export const rateLimitedBody = failureBody
  .extend({ detail: text('The error message again, for clients that read it here.') })
  .meta({ id: 'RateLimited', description: 'The body of a failure with status 429.' })

/** The failures that routes share, by their names in the OpenAPI document. */
export const sharedFailures = {
  InvalidArgs: {
    ...restErrors.INVALID_INPUT,
    when: 'The request is invalid. The message lists every problem.',
  },
  Unauthenticated: documentedFailureOf('UNAUTHENTICATED', 'The API key is missing, unknown, expired or revoked.'),
  Forbidden: {
    ...restErrors.FORBIDDEN,
    when: 'The key is scoped and lacks the permission that the message names.',
  },
  AccountDisabled: documentedFailureOf(
    'ACCOUNT_DISABLED',
    'An operator has disabled the account. The message has the reason.',
  ),
  TooLarge: { status: 413, error: 'invalid_request', when: `The body is larger than ${maxBodyBytes} bytes.` },
  Unsupported: { status: 415, error: 'invalid_request', when: 'The body is compressed or not in UTF-8.' },
  OutcomeUnknown: {
    status: 409,
    error: 'outcome_unknown',
    when: 'No answer came in time, so the request may or may not have been executed. Check before you repeat it.',
  },
  RateLimited: {
    ...restErrors.RATE_LIMITED,
    when: 'The caller asks for too much at once, and nothing was done. Retry after the number of seconds in Retry-After.',
    body: rateLimitedBody,
  },
  InternalError: {
    status: 500,
    error: 'internal_error',
    when: 'The gateway failed. Report the request id in the message to its operator.',
  },
  Unavailable: {
    ...restErrors.UNAVAILABLE,
    when: 'The gateway or its database is overloaded, or does not answer. Retry after the number of seconds in Retry-After.',
  },
} satisfies Record<string, DocumentedFailure>

/** The failures of a route that takes an Idempotency-Key. */
export const idempotencyFailures: DocumentedFailure[] = [
  documentedFailureOf('IDEMPOTENCY_IN_PROGRESS', 'The first request with this idempotency key is still running.'),
  {
    ...restErrors.IDEMPOTENCY_KEY_REUSED,
    when: 'The idempotency key was used for another request or by another API key, or what its first request created was deleted since.',
  },
]

/** Every failure of a route, its own first. */
export function documentedFailuresOf(route: Route): DocumentedFailure[] {
  const { InvalidArgs, Unauthenticated, Forbidden, AccountDisabled, TooLarge, Unsupported, ...others } = sharedFailures
  const { OutcomeUnknown, RateLimited, InternalError, Unavailable } = others
  const hasBody = route.method !== 'GET'
  return [
    ...(route.failures ?? []),
    ...(hasBody || route.params || route.query ? [InvalidArgs] : []),
    ...(route.open ? [] : [Unauthenticated, Forbidden, AccountDisabled]),
    ...(hasBody ? [TooLarge, Unsupported] : []),
    ...(route.notIdempotent ? [OutcomeUnknown] : []),
    RateLimited,
    InternalError,
    Unavailable,
  ]
}
