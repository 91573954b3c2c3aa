import { GraphQLError } from 'graphql'
import { DomainError, type ErrorCode } from '../../domain/errors.ts'
import { explainFailure } from '../../services/failures.ts'
import type { Context } from '../context.ts'
import { withoutValues } from '../redact-values.ts'

/** The code that clients see for each refusal, and the status of an answer that has nothing but this refusal. */
const answers: Record<ErrorCode, { code: string; status?: number }> = {
  UNAUTHENTICATED: { code: 'UNAUTHENTICATED', status: 401 },
  FORBIDDEN: { code: 'FORBIDDEN', status: 403 },
  NOT_FOUND: { code: 'NOT_FOUND' },
  INVALID_INPUT: { code: 'BAD_USER_INPUT' },
  INVALID_CURSOR: { code: 'INVALID_CURSOR' },
  OFFER_UNAVAILABLE: { code: 'OFFER_UNAVAILABLE' },
  BID_TOO_LOW: { code: 'BID_TOO_LOW' },
  PRICE_CHANGED: { code: 'PRICE_CHANGED' },
  INSUFFICIENT_CREDIT: { code: 'INSUFFICIENT_CREDIT' },
  SPEND_LIMIT_EXCEEDED: { code: 'SPEND_LIMIT_EXCEEDED' },
  QUOTA_EXCEEDED: { code: 'QUOTA_EXCEEDED' },
  START_BACKOFF: { code: 'START_BACKOFF' },
  SSH_KEY_REQUIRED: { code: 'SSH_KEY_REQUIRED' },
  INVALID_STATE: { code: 'INVALID_STATE' },
  VOLUME_UNAVAILABLE: { code: 'VOLUME_UNAVAILABLE' },
  NO_OFFER_RENTED: { code: 'NO_OFFER_RENTED' },
  IDEMPOTENCY_KEY_REUSED: { code: 'IDEMPOTENCY_KEY_REUSED' },
  IDEMPOTENCY_IN_PROGRESS: { code: 'IDEMPOTENCY_IN_PROGRESS' },
  CONFLICT: { code: 'CONFLICT' },
  CURSOR_EXPIRED: { code: 'CURSOR_EXPIRED' },
  TOO_MANY_STREAMS: { code: 'TOO_MANY_STREAMS', status: 429 },
  STREAM_ENDED: { code: 'STREAM_ENDED' },
  UNAVAILABLE: { code: 'UNAVAILABLE', status: 503 },
}

export function describe({ code, details }: DomainError): {
  extensions: Record<string, unknown>
  status: number | undefined
} {
  const { code: shown, status } = answers[code]
  const { issues, missing, ending } = details
  return {
    extensions: {
      code: shown,
      ...(issues && { issues }),
      ...(missing && { missing }),
      ...(ending && { reason: ending }),
    },
    status,
  }
}

/** What the caller may read of an error: refusals as they are, and of anything else only that it happened. */
export function explainError(error: GraphQLError, { requestId, log }: Context): GraphQLError {
  const { originalError } = error
  if (!originalError || originalError instanceof GraphQLError) {
    // What GraphQL itself says of variables comes without a code.
    return error.extensions['code']
      ? error
      : restate(error, withoutValues(error), { ...error.extensions, code: 'BAD_USER_INPUT' })
  }
  const known = explainFailure(originalError)
  if (known instanceof DomainError) {
    const { extensions, status } = describe(known)
    return restate(error, known.message, status === undefined ? extensions : { ...extensions, http: httpOf(status) })
  }
  log.error({ err: originalError, path: error.path }, 'A GraphQL field failed.')
  return restate(error, 'Unexpected error.', { code: 'INTERNAL_SERVER_ERROR', requestId })
}

/** The status and the headers of an answer that has nothing but a refusal. */
export function httpOf(status: number): { status: number; headers: Record<string, string> } {
  return { status, headers: status === 503 ? { 'retry-after': '1' } : {} }
}

/** What GraphQL says of an operation that it does not run. */
export function quieten(error: GraphQLError): GraphQLError {
  return restate(error, withoutValues(error), error.extensions)
}

/** An answer that has data is a success, whatever a part of it was refused. */
export function withoutStatus(error: GraphQLError): GraphQLError {
  const { http, ...extensions } = error.extensions
  return http === undefined ? error : restate(error, error.message, extensions)
}

function restate(error: GraphQLError, message: string, extensions: Record<string, unknown>): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null } = error
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}
