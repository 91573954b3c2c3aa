import { z } from 'zod'
import { maxBodyBytes } from '../http/body.ts'
import { answers, failureOf } from './error-codes.ts'
import type { Failure, Route } from './route.ts'
import { text } from './values.ts'

export const failureBody = z
  .object({
    success: z.literal(false).describe('Always false.'),
    error: text('A code for programs.'),
    msg: text('What went wrong, for people.'),
  })
  .meta({ id: 'Failure', description: 'What every failure answers.' })

/** The failures that routes share, by the names that they have in the document. */
export const sharedFailures = {
  InvalidArgs: {
    ...answers.INVALID_INPUT,
    when: 'The request is not understood. The message names everything that is wrong with it.',
  },
  Unauthenticated: failureOf('UNAUTHENTICATED', 'There is no key, or it is unknown, expired or revoked.'),
  Forbidden: {
    ...answers.FORBIDDEN,
    when: 'The key is scoped, and lacks the permission that the message names.',
  },
  TooLarge: { status: 413, error: 'invalid_request', when: `The body is larger than ${maxBodyBytes} bytes.` },
  Unsupported: { status: 415, error: 'invalid_request', when: 'The body is compressed, or not in UTF-8.' },
  OutcomeUnknown: {
    status: 409,
    error: 'outcome_unknown',
    when: 'No answer came in time from what it needs: it may have happened, or not. Look before you repeat it.',
  },
  InternalError: {
    status: 500,
    error: 'internal_error',
    when: 'Something went wrong in the gateway. The message has the id of the request, to be told to its operator.',
  },
  Unavailable: {
    ...answers.UNAVAILABLE,
    when: 'The database does not answer, or cannot do this now. Try again after the seconds in Retry-After.',
  },
} satisfies Record<string, Failure>

/** Those of a route that may be repeated with a key. */
export const idempotencyFailures: Failure[] = [
  failureOf('IDEMPOTENCY_IN_PROGRESS', 'The first request with this key has not ended yet.'),
  {
    ...answers.IDEMPOTENCY_KEY_REUSED,
    when: 'The idempotency key was used for another request, or by another API key.',
  },
]

/** Everything that can go wrong with a route, its own failures first. */
export function failuresOf(route: Route): Failure[] {
  const { InvalidArgs, Unauthenticated, Forbidden, TooLarge, Unsupported, ...others } = sharedFailures
  const { OutcomeUnknown, InternalError, Unavailable } = others
  const hasBody = route.method !== 'GET'
  return [
    ...(route.failures ?? []),
    ...(hasBody || route.params || route.query ? [InvalidArgs] : []),
    ...(route.open ? [] : [Unauthenticated, Forbidden]),
    ...(hasBody ? [TooLarge, Unsupported] : []),
    ...(route.notIdempotent ? [OutcomeUnknown] : []),
    InternalError,
    Unavailable,
  ]
}
