import { invalidKeyMessage } from '../domain/accounts/invalid-key.ts'
import type { Quota } from '../domain/accounts/quotas.ts'
import { DomainError } from '../domain/errors.ts'
import { renameFields } from '../domain/messages.ts'
import { usdToNumber } from '../domain/money.ts'
import { BodyError } from '../http/body.ts'
import { jsonResponse } from '../http/json.ts'
import { retryAfterHeaders } from '../http/limits/headers.ts'
import { translateDatabaseError } from '../services/database-errors.ts'
import { restErrors } from './error-codes.ts'
import { wireNames } from './offers/fields.ts'
import type { Route } from './route.ts'

/** Every failure has `success`, `error` and `msg`. Clients print `msg` and branch on `error`. */
export function failureResponse(
  status: number,
  error: string,
  msg: string,
  headers?: Record<string, string>,
): Response {
  return jsonResponse(status, { success: false, error, msg }, headers)
}

/** The body of a failure with no more fields. */
export function printFailure(error: DomainError): string {
  return JSON.stringify({ success: false, error: restErrors[error.code].error, msg: messageOf(error) })
}

/** The message with the names that fields of offers have over REST. Old clients look for these words about a key. */
function messageOf({ message, messageWithIds }: DomainError): string {
  return message === invalidKeyMessage ? 'Invalid user key' : String(renameFields(messageWithIds, wireNames))
}

/** A failure of REST alone, without a domain error code. */
export class RestFailure extends Error {
  readonly status: number
  readonly error: string
  /** Fields of the body besides `success`, `error` and `msg`. */
  readonly extraFields: object

  constructor(status: number, error: string, msg: string, more: object = {}) {
    super(msg)
    this.status = status
    this.error = error
    this.extraFields = more
  }
}

/** The failure of one item of a bulk request, as the item's result has it. */
export function itemFailureOf({ code, message }: Pick<DomainError, 'code' | 'message'>): {
  error: string
  msg: string
} {
  return { error: restErrors[code].error, msg: message }
}

/** The response to a failure. Undefined for a bug, whose message no client may see. */
export function errorResponse(error: unknown): Response | undefined {
  if (error instanceof BodyError) {
    return failureResponse(error.status, error.status === 400 ? 'invalid_args' : 'invalid_request', error.message)
  }
  if (error instanceof RestFailure)
    return jsonResponse(error.status, { success: false, error: error.error, msg: error.message, ...error.extraFields })
  if (!(error instanceof DomainError)) return undefined
  const { code, details } = error
  const message = messageOf(error)
  if (isInstanceGone(error)) {
    return jsonResponse(404, { success: false, error: 'no_such_instance', msg: message, instances: null })
  }
  const known = restErrors[code]
  const status = code === 'OFFER_UNAVAILABLE' && details.failIfUnavailable ? 410 : known.status
  // Old clients read `detail`; other clients wait for Retry-After.
  if (status === 429) {
    const headers = code === 'RATE_LIMITED' ? retryAfterHeaders(details) : retrySoon
    return jsonResponse(429, { success: false, error: known.error, msg: message, detail: message }, headers)
  }
  if (status === 503) return failureResponse(status, known.error, message, retrySoon)
  return jsonResponse(status, { success: false, error: known.error, msg: message, ...extraFieldsOf(error) })
}

/** Clients take this answer for the end of an instance, so one that is destroyed gets it too. */
export function isInstanceGone({ code, details }: DomainError): boolean {
  if (code === 'INVALID_STATE') return details.cause === 'destroyed'
  return code === 'NOT_FOUND' && details.subject?.type === 'Instance'
}

/** The fields that only some failures have. */
function extraFieldsOf({ code, details }: DomainError): object {
  if (code === 'INSUFFICIENT_CREDIT') {
    const { neededNanos, availableNanos } = details
    return neededNanos === null ? {} : { needed: usdToNumber(neededNanos), available: usdToNumber(availableNanos) }
  }
  if (code === 'QUOTA_EXCEEDED') {
    const { name, limit, used, asked } = details.quota
    return { quota: quotaWireNames[name], limit, used, asked }
  }
  return code === 'START_BACKOFF' ? { retry_after: details.retryAfter.getTime() / 1000 } : {}
}

/** The REST names of quotas. */
export const quotaWireNames = {
  instances: 'instances',
  loading: 'loading',
  diskGb: 'disk_gb',
  volumes: 'volumes',
} as const satisfies Record<Quota, string>

const retrySoon = { 'retry-after': '1' }

/**
 * Replaces an uncertain outcome with 409, and translates every other error. Old clients retry on 429 and on every status
 * from 500 on. A request that is not idempotent and may already have run must not be retried.
 */
export function replaceUncertainOutcome(
  route: Pick<Route, 'notIdempotent' | 'takesIdempotencyKey'>,
  error: unknown,
  key?: string,
): unknown {
  const translated = translateDatabaseError(error)
  if (!route.notIdempotent || !(translated instanceof DomainError) || translated.code !== 'UNAVAILABLE')
    return translated
  if (translated.details.undone) return translated
  const advice = key
    ? 'Repeat the request with the same Idempotency-Key: it runs only once.'
    : `Check before you repeat it.${route.takesIdempotencyKey ? ' A request with an Idempotency-Key can be repeated safely.' : ''}`
  return new RestFailure(
    409,
    'outcome_unknown',
    `No answer came in time, so the request may or may not have been executed. ${advice}`,
  )
}
