import type { Quota } from '../domain/accounts/quotas.ts'
import { DomainError } from '../domain/errors.ts'
import { usdToNumber } from '../domain/money.ts'
import { BodyError } from '../http/body.ts'
import { jsonResponse } from '../http/json.ts'
import { translateDatabaseError } from '../services/database-errors.ts'
import { answers } from './error-codes.ts'
import type { Route } from './route.ts'

/** Every failure is an object with these three: clients print `msg`, and look at `error`. */
export function failureResponse(
  status: number,
  error: string,
  msg: string,
  headers?: Record<string, string>,
): Response {
  return jsonResponse(status, { success: false, error, msg }, headers)
}

/** A failure that only this face knows. */
export class RestFailure extends Error {
  readonly status: number
  readonly error: string
  /** What its body has beside what every failure has. */
  readonly extraFields: object

  constructor(status: number, error: string, msg: string, more: object = {}) {
    super(msg)
    this.status = status
    this.error = error
    this.extraFields = more
  }
}

/** A refusal of a part of a request, where the rest was done. */
export function itemFailureOf({ code, message }: Pick<DomainError, 'code' | 'message'>): {
  error: string
  msg: string
} {
  return { error: answers[code].error, msg: message }
}

/** A failure as an answer; undefined for a bug, which nobody may read. */
export function errorResponse(error: unknown): Response | undefined {
  if (error instanceof BodyError) {
    return failureResponse(error.status, error.status === 400 ? 'invalid_args' : 'invalid_request', error.message)
  }
  if (error instanceof RestFailure)
    return jsonResponse(error.status, { success: false, error: error.error, msg: error.message, ...error.extraFields })
  if (!(error instanceof DomainError)) return undefined
  const { code, message, details } = error
  if (code === 'NOT_FOUND' && details.subject?.type === 'Instance') {
    return jsonResponse(404, { success: false, error: 'no_such_instance', msg: message, instances: null })
  }
  const { status, error: name } = answers[code]
  const gone = code === 'OFFER_UNAVAILABLE' && details.cancelled ? 410 : status
  // Old clients look for `detail`, others wait as Retry-After says.
  if (status === 429)
    return jsonResponse(429, { success: false, error: name, msg: message, detail: message }, retryAfterHeaders)
  if (status === 503) return failureResponse(gone, name, message, retryAfterHeaders)
  return jsonResponse(gone, { success: false, error: name, msg: message, ...extraFieldsOf(error) })
}

/** What some refusals tell beside what every failure has. */
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

/** The names of quotas on this face. */
export const quotaWireNames = {
  instances: 'instances',
  loading: 'loading',
  diskGb: 'disk_gb',
  volumes: 'volumes',
} as const satisfies Record<Quota, string>

const retryAfterHeaders = { 'retry-after': '1' }

/**
 * The failure of a route. Old clients repeat requests on 429 and from 500 on. If a request that must not run twice may
 * already have run, it answers 409 instead.
 */
export function uncertainOutcome(
  route: Pick<Route, 'notIdempotent' | 'takesIdempotencyKey'>,
  error: unknown,
  key?: string,
): unknown {
  const known = translateDatabaseError(error)
  if (!route.notIdempotent || !(known instanceof DomainError) || known.code !== 'UNAVAILABLE') return known
  if (known.details.undone) return known
  const advice = key
    ? 'Repeat it with the same Idempotency-Key: it happens once.'
    : `Look whether it did before you repeat it${route.takesIdempotencyKey ? ', or repeat requests with an Idempotency-Key, which happen once' : ''}.`
  return new RestFailure(409, 'outcome_unknown', `No answer came in time: this may have happened, or not. ${advice}`)
}
