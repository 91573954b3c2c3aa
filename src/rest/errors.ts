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
  OFFER_UNAVAILABLE: { status: 404, error: 'no_such_ask' },
  BID_TOO_LOW: { status: 400, error: 'invalid_price' },
  PRICE_CHANGED: { status: 409, error: 'price_changed' },
  INSUFFICIENT_CREDIT: { status: 400, error: 'insufficient_credit' },
  SPEND_LIMIT_EXCEEDED: { status: 400, error: 'spend_limit_exceeded' },
  SSH_KEY_REQUIRED: { status: 400, error: 'no_ssh_key_for_vm' },
  INVALID_STATE: { status: 400, error: 'invalid_state' },
  VOLUME_UNAVAILABLE: { status: 409, error: 'volume_in_use' },
  NO_OFFER_RENTED: { status: 404, error: 'no_such_ask' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, error: 'idempotency_key_reused' },
  IDEMPOTENCY_IN_PROGRESS: { status: 409, error: 'idempotency_in_progress' },
  CONFLICT: { status: 409, error: 'conflict' },
  CURSOR_EXPIRED: { status: 400, error: 'invalid_args' },
  TOO_MANY_STREAMS: { status: 429, error: 'too_many_requests' },
  STREAM_ENDED: { status: 503, error: 'unavailable' },
  UNAVAILABLE: { status: 503, error: 'unavailable' },
}

/** Every failure is an object with these three: clients print `msg`, and look at `error`. */
export function failure(status: number, error: string, msg: string, headers?: Record<string, string>): Response {
  return json(status, { success: false, error, msg }, headers)
}

/** A failure that only this face knows. */
export class RestFailure extends Error {
  readonly status: number
  readonly error: string

  constructor(status: number, error: string, msg: string) {
    super(msg)
    this.status = status
    this.error = error
  }
}

/** A failure as an answer; undefined for a bug, which nobody may read. */
export function explain(error: unknown): Response | undefined {
  if (error instanceof BodyRefused) {
    return failure(error.status, error.status === 400 ? 'invalid_args' : 'invalid_request', error.message)
  }
  if (error instanceof RestFailure) return failure(error.status, error.error, error.message)
  if (!(error instanceof DomainError)) return undefined
  const { code, message, details } = error
  if (code === 'NOT_FOUND' && details.subject?.type === 'Instance') {
    return json(404, { success: false, error: 'no_such_instance', msg: message, instances: null })
  }
  const { status, error: name } = answers[code]
  const gone = details.offer?.cancelled ? 410 : status
  return failure(gone, name, message, status === 503 ? { 'retry-after': '1' } : {})
}
