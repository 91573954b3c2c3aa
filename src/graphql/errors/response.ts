// Answers to requests that failed before their operation ran.

import { DomainError } from '../../domain/errors.ts'
import { BodyError } from '../../http/body.ts'
import { jsonResponse } from '../../http/json.ts'
import type { RequestContext } from '../../http/router.ts'
import { translateDatabaseError } from '../../services/database-errors.ts'
import { describeRefusal, httpOf } from './errors.ts'
import { extensionsOf } from './face-errors.ts'

export function refusalResponse(error: unknown, { requestId, log }: RequestContext): Response {
  const known = translateDatabaseError(error)
  if (known instanceof BodyError) return errorResponse(known.status, known.message, extensionsOf('BAD_REQUEST'))
  if (known instanceof DomainError) {
    const { message, extensions } = describeRefusal(known)
    const { status, headers } = httpOf(known) ?? { status: 400, headers: {} }
    return errorResponse(status, message, extensions, headers)
  }
  log.error({ err: error }, 'A GraphQL request failed.')
  return errorResponse(500, 'Unexpected error.', { ...extensionsOf('INTERNAL_SERVER_ERROR'), requestId })
}

/** The body of an answer that is only a refusal. */
export function printRefusal(refusal: DomainError): string {
  const { message, extensions } = describeRefusal(refusal)
  return JSON.stringify({ errors: [{ message, extensions }] })
}

export function errorResponse(
  status: number,
  message: string,
  extensions: Record<string, unknown>,
  headers: Record<string, string> = {},
): Response {
  return jsonResponse(status, { errors: [{ message, extensions }] }, headers)
}
