import { type DocumentNode, GraphQLError, type GraphQLSchema } from 'graphql'
import { DomainError, type Issue } from '../../domain/errors.ts'
import { printTypedIds } from '../../domain/messages.ts'
import { retryAdviceOf } from '../../domain/retry.ts'
import { retryAfterHeaders } from '../../http/limits/headers.ts'
import { translateDatabaseError } from '../../services/database-errors.ts'
import { missingName } from '../accounts/operation-names.ts'
import type { Context } from '../context.ts'
import { nameOf } from '../enum.ts'
import { redactMessage } from '../redact-values.ts'
import { type FaceErrorCode, statusOf } from './codes.ts'
import { explain } from './explain.ts'
import { extensionsOf, replaceError } from './face-errors.ts'
import { printMessage } from './message.ts'
import { placeOf } from './place.ts'

/** What `errors` has about a refusal. */
export function describeRefusal(error: DomainError): {
  message: string
  extensions: Record<string, unknown>
} {
  const code = error.code === 'INVALID_INPUT' ? 'BAD_USER_INPUT' : error.code
  return {
    message: printMessage(error),
    extensions: { code, retry: nameOf(retryAdviceOf(error)), ...detailsOf(error) },
  }
}

/** The details that some errors have besides their code. */
function detailsOf({ code, details }: DomainError): object {
  if (code === 'INVALID_INPUT') return details.issues.length > 0 ? { issues: details.issues.map(printIssue) } : {}
  if (code === 'FORBIDDEN') return { missing: [...new Set(details.missing.map(missingName))] }
  if (code === 'RATE_LIMITED') return { retryAfter: details.retryAfter.toISOString() }
  if (code === 'ACCOUNT_DISABLED') return { since: details.since.toISOString(), reason: details.reason }
  return code === 'STREAM_ENDED' ? { reason: details.ending } : {}
}

function printIssue({ path, message }: Issue) {
  return { path, message: printTypedIds(message) }
}

/** The error that the client may see: a refusal as it is, any other error without its message. */
export function toClientError(error: GraphQLError, schema: GraphQLSchema, context: Context): GraphQLError {
  const { originalError } = error
  if (originalError && !(originalError instanceof GraphQLError)) return thrownError(error, originalError, context)
  if (error.extensions['code']) return error
  // GraphQL's own errors about variables have no code.
  const message = explain(redactMessage(error), schema)
  return replaceError(error, message, { ...error.extensions, ...extensionsOf('BAD_USER_INPUT') })
}

/** The same for an error that is not of GraphQL. */
export function thrownError(
  error: GraphQLError,
  originalError: Error,
  { requestId, log }: Pick<Context, 'requestId' | 'log'>,
): GraphQLError {
  const known = translateDatabaseError(originalError)
  if (known instanceof DomainError) {
    const { message, extensions } = refusalError(known)
    return replaceError(error, message, extensions)
  }
  log.error({ err: originalError, path: error.path }, 'A GraphQL field failed.')
  return replaceError(error, 'Unexpected error.', { ...extensionsOf('INTERNAL_SERVER_ERROR'), requestId })
}

export function refusalError(refusal: DomainError): GraphQLError {
  const { message, extensions } = describeRefusal(refusal)
  const http = httpOf(refusal)
  return new GraphQLError(message, {
    extensions: http === undefined ? extensions : { ...extensions, http },
  })
}

/** The HTTP status and headers of an answer that is only a refusal. */
export function httpOf(refusal: DomainError): { status: number; headers: Record<string, string> } | undefined {
  const status = statusOf(refusal.code)
  return status === undefined ? undefined : { status, headers: headersOf(refusal) }
}

function headersOf({ code, details }: DomainError): Record<string, string> {
  if (code === 'RATE_LIMITED') return retryAfterHeaders(details)
  return code === 'UNAVAILABLE' ? { 'retry-after': '1' } : {}
}

/**
 * GraphQL's parse or validation error with its code, and without the values that the client sent. With a document, it
 * has the place of the value that it is about, and what to write instead. Yoga keeps it for the next request with the same text.
 */
export function redactError(
  error: GraphQLError,
  code: FaceErrorCode,
  validated?: { document: DocumentNode; schema: GraphQLSchema },
): GraphQLError {
  const place = validated && placeOf(validated.document, error.nodes?.[0])
  const redacted = redactMessage(error)
  const message = validated ? explain(redacted, validated.schema) : redacted
  return replaceError(error, place ? `Invalid value at "${place}"; ${message}` : message, {
    ...error.extensions,
    ...extensionsOf(code),
  })
}

/** An answer with data has status 200, even if some of its fields failed. */
export function withoutStatus(error: GraphQLError): GraphQLError {
  const { http, ...extensions } = error.extensions
  return http === undefined ? error : replaceError(error, error.message, extensions)
}
