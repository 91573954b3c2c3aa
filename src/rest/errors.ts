import { DomainError, type ErrorCode } from '../domain/errors.ts'
import { BodyRefused } from '../http/body.ts'
import { json } from '../http/json.ts'

/** The one table from refusals to answers: status and the code in `error`. */
const answers: Record<ErrorCode, { status: number; error: string }> = {
  UNAUTHENTICATED: { status: 401, error: 'auth_error' },
  FORBIDDEN: { status: 403, error: 'forbidden' },
  NOT_FOUND: { status: 404, error: 'not_found' },
  INVALID_INPUT: { status: 400, error: 'invalid_args' },
  INVALID_CURSOR: { status: 400, error: 'invalid_args' },
  CONFLICT: { status: 409, error: 'conflict' },
  UNAVAILABLE: { status: 503, error: 'unavailable' },
}

/** Every failure is an object with these three: clients print `msg`, and look at `error`. */
export function failure(status: number, error: string, msg: string, headers?: Record<string, string>): Response {
  return json(status, { success: false, error, msg }, headers)
}

/** A failure as an answer; undefined for a bug, which nobody may read. */
export function explain(error: unknown): Response | undefined {
  if (error instanceof BodyRefused) return failure(error.status, 'invalid_request', error.message)
  if (!(error instanceof DomainError)) return undefined
  const { status, error: code } = answers[error.code]
  return failure(status, code, error.message, status === 503 ? { 'retry-after': '1' } : {})
}
