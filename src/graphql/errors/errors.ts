import { GraphQLError } from 'graphql'
import { DomainError } from '../../domain/errors.ts'
import { translateDatabaseError } from '../../services/database-errors.ts'
import type { Context } from '../context.ts'
import { redactMessage } from '../redact-values.ts'
import { statusOf } from './codes.ts'

export function describeRefusal(error: DomainError): {
  extensions: Record<string, unknown>
  status: number | undefined
} {
  const code = error.code === 'INVALID_INPUT' ? 'BAD_USER_INPUT' : error.code
  return { extensions: { code, ...factsOf(error) }, status: statusOf(error.code) }
}

/** What some errors say beside their code. */
function factsOf({ code, details }: DomainError): object {
  if (code === 'INVALID_INPUT') return details.issues.length > 0 ? { issues: details.issues } : {}
  if (code === 'FORBIDDEN') return { missing: details.missing }
  return code === 'STREAM_ENDED' ? { reason: details.ending } : {}
}

/** What the caller may read of an error: refusals as they are, and of anything else only that it happened. */
export function toClientError(error: GraphQLError, { requestId, log }: Context): GraphQLError {
  const { originalError } = error
  if (!originalError || originalError instanceof GraphQLError) {
    // What GraphQL itself says of variables comes without a code.
    return error.extensions['code']
      ? error
      : replaceMessage(error, redactMessage(error), { ...error.extensions, code: 'BAD_USER_INPUT' })
  }
  const known = translateDatabaseError(originalError)
  if (known instanceof DomainError) {
    const { extensions, status } = describeRefusal(known)
    return replaceMessage(
      error,
      known.message,
      status === undefined ? extensions : { ...extensions, http: httpOf(status) },
    )
  }
  log.error({ err: originalError, path: error.path }, 'A GraphQL field failed.')
  return replaceMessage(error, 'Unexpected error.', { code: 'INTERNAL_SERVER_ERROR', requestId })
}

/** The status and the headers of an answer that has nothing but a refusal. */
export function httpOf(status: number): { status: number; headers: Record<string, string> } {
  return { status, headers: status === 503 ? { 'retry-after': '1' } : {} }
}

/** What GraphQL says of an operation that it does not run. */
export function redactError(error: GraphQLError): GraphQLError {
  return replaceMessage(error, redactMessage(error), error.extensions)
}

/** An answer that has data is a success, whatever a part of it was refused. */
export function withoutStatus(error: GraphQLError): GraphQLError {
  const { http, ...extensions } = error.extensions
  return http === undefined ? error : replaceMessage(error, error.message, extensions)
}

function replaceMessage(error: GraphQLError, message: string, extensions: Record<string, unknown>): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null } = error
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}
