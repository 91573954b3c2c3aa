import type { MissingPermission, RefusedUse } from './accounts/permissions/missing.ts'
import type { ExceededQuota } from './accounts/quotas.ts'
import type { SpendLimitWithUsage } from './billing/spend-limit.ts'
import { joinMessages, type Message, mention, withIds } from './messages.ts'
import type { OfferFacts } from './offers/offers.ts'

/** The one list of error codes. Each face has a table that does not compile without an entry for every code. */
export type ErrorCode = keyof DetailsOf

/** One problem in an input. The message reads on from the path and does not repeat it. */
export type Issue = { path: string; message: Message }

/** Why Berth ended a stream. */
export type StreamEndReason = 'KEY_ENDED' | 'KEY_CHANGED' | 'TOO_SLOW' | 'TOO_LONG' | 'GATEWAY_STOPS'

/** Why a search for the best offer rented nothing. */
export type NoOfferReason = 'nothingMatches' | 'nothingFree' | 'tooExpensive' | 'attemptsFailed'

/** An offer that was tried. `code` says why it was not rented; null for the rented offer. */
export type Attempt = {
  offerId: bigint
  code: Extract<ErrorCode, 'OFFER_UNAVAILABLE' | 'PRICE_CHANGED' | 'BID_TOO_LOW' | 'INVALID_INPUT'> | null
}

const subjectNames = {
  Account: 'Account',
  ApiKey: 'API key',
  Instance: 'Instance',
  Machine: 'Machine',
  SpendLimit: 'Spend limit',
  SshKey: 'SSH key',
  Template: 'Template',
  Volume: 'Volume',
  Webhook: 'Webhook',
} as const

type Subject = { type: keyof typeof subjectNames; id: number | bigint }

/** The details of each code's errors. Prices and rates are nano-dollars per hour. */
export type DetailsOf = {
  UNAUTHENTICATED: undefined
  /** `reason`: what the operator wrote for the account's owner. */
  ACCOUNT_DISABLED: { since: Date; reason: string }
  /**
   * `missing`: permissions that the key lacks; empty if no permission would help. `refused`: what they would allow; absent
   * if `missing` is empty.
   */
  FORBIDDEN: { missing: MissingPermission[]; refused?: RefusedUse }
  /** `subject`: null if the caller did not name it by its id. `names`: what the caller named instead. */
  NOT_FOUND: { subject: Subject | null; names?: readonly string[] }
  /** `issues`: the problems in the input; empty if only the message names the problem. */
  INVALID_INPUT: { issues: Issue[] }
  INVALID_CURSOR: undefined
  /**
   * `instanceId`: the instance that the caller rented with this offer, if any. `alternatives`: empty for a volume offer.
   * `failIfUnavailable`: the caller set it in the input, to get this error instead of waiting for GPUs.
   */
  OFFER_UNAVAILABLE: { instanceId: bigint | null; alternatives: OfferFacts[]; failIfUnavailable: boolean }
  BID_TOO_LOW: { minimumBidNanos: bigint }
  PRICE_CHANGED: { currentPriceNanos: bigint }
  /** `neededNanos`: the total credit that the account needs, including this request; null if not computed. */
  INSUFFICIENT_CREDIT: { availableNanos: bigint; neededNanos: bigint | null }
  /**
   * `askedNanos`: the amount that the request would add to the spending per hour. `retryAfter`: the start of the next day or
   * month; null if waiting does not help.
   */
  SPEND_LIMIT_EXCEEDED: { limit: SpendLimitWithUsage; askedNanos: bigint; retryAfter: Date | null }
  QUOTA_EXCEEDED: { quota: ExceededQuota }
  /** `retryAfter`: the earliest time of the next start. */
  START_BACKOFF: { retryAfter: Date }
  SSH_KEY_REQUIRED: undefined
  /**
   * `instanceId`: null if the error is about a machine. `cause`: `fixedPrice` refuses a new bid for an on-demand instance.
   */
  INVALID_STATE: { instanceId: bigint | null; cause: 'destroyed' | 'fixedPrice' | null }
  /** `instanceId`: the instance that holds the volume. `removing`: it is destroyed, and releases the volume soon. */
  VOLUME_UNAVAILABLE: { volumeId: bigint; instanceId: bigint; removing: boolean }
  /** `attempts`: the offers that were tried. `nearest`: null if some were, or nothing comes near. */
  NO_OFFER_RENTED: { attempts: Attempt[]; reason: NoOfferReason; nearest: OfferFacts | null }
  IDEMPOTENCY_KEY_REUSED: undefined
  /** `retryAfter`: when the first request has probably ended. */
  IDEMPOTENCY_IN_PROGRESS: { retryAfter: Date }
  /** `subject`: the existing subject that conflicts; null if there is none, as when the account is at a maximum. */
  CONFLICT: { subject: Subject | null }
  CURSOR_EXPIRED: undefined
  TOO_MANY_STREAMS: undefined
  /** `seconds`: from now until `retryAfter`, the earliest time at which the same request may be granted. */
  RATE_LIMITED: { seconds: number; retryAfter: Date }
  STREAM_ENDED: { ending: StreamEndReason }
  /**
   * `undone`: the transaction that failed was rolled back, so it changed nothing. A service that may have committed another
   * transaction before it must not pass this error on: see `rentMany`.
   */
  UNAVAILABLE: { undone: boolean }
}

/** The last constructor arguments: the details, or none if the code has no details. */
type DetailArguments<C extends ErrorCode> = DetailsOf[C] extends undefined ? [] : [details: DetailsOf[C]]

class CodedError<C extends ErrorCode> extends Error {
  override readonly name = 'DomainError'
  readonly code: C
  readonly details: DetailArguments<C>[0]
  /** `message` with its mentions, which GraphQL prints as typed ids. */
  readonly messageWithIds: Message

  constructor(code: C, message: Message, ...[details]: DetailArguments<C>) {
    super(String(message))
    this.code = code
    this.details = details
    this.messageWithIds = message
  }
}

/** An error that the caller may read. A union over the codes, so a check of the code narrows the details. */
export type DomainError<C extends ErrorCode = ErrorCode> = { [Code in C]: CodedError<Code> }[C]

/** Any other thrown error is a bug, and the faces mask it. */
export const DomainError: {
  new <C extends ErrorCode>(code: C, message: Message, ...details: DetailArguments<C>): CodedError<C>
  /** `instanceof` narrows to this. */
  readonly prototype: DomainError
} = CodedError

/** The gateway has not begun the request. */
export function overloaded(): DomainError<'UNAVAILABLE'> {
  const message = 'The gateway has more requests than it can answer now. Try again in a moment.'
  return new DomainError('UNAVAILABLE', message, { undone: true })
}

/** The subject does not exist or belongs to another account. The caller must not learn which. */
export function notFound(type: Subject['type'], id: Subject['id']): DomainError<'NOT_FOUND'> {
  return new DomainError('NOT_FOUND', withIds`${subjectNames[type]} ${mention(type, id)} not found.`, {
    subject: { type, id },
  })
}

/** A repeated request cannot be answered: the item of its first answer no longer exists. */
export function itemGone(type: Subject['type'], id: Subject['id']): DomainError<'IDEMPOTENCY_KEY_REUSED'> {
  return replayRefused(withIds`${subjectNames[type]} ${mention(type, id)} no longer exists.`)
}

/** A repeated request cannot be answered with the secret of its first answer: the secret has ended, alone or with its item. */
export function secretEnded(type: Subject['type'], id: Subject['id']): DomainError<'IDEMPOTENCY_KEY_REUSED'> {
  const ended = withIds`${subjectNames[type]} ${mention(type, id)} no longer exists, or has another secret`
  return replayRefused(withIds`${ended} than in the first answer to this request.`)
}

function replayRefused(reason: Message): DomainError<'IDEMPOTENCY_KEY_REUSED'> {
  const message = withIds`${reason} To repeat the request, send a new idempotency key.`
  return new DomainError('IDEMPOTENCY_KEY_REUSED', message)
}

export function invalidState(
  instanceId: bigint,
  message: string,
  cause: 'fixedPrice' | null = null,
): DomainError<'INVALID_STATE'> {
  return new DomainError('INVALID_STATE', message, { instanceId, cause })
}

/** Only for an instance of the caller's own account: see `notFound`. */
export function instanceDestroyed(instanceId: bigint): DomainError<'INVALID_STATE'> {
  const message = withIds`Instance ${mention('Instance', instanceId)} is destroyed. Rent another one.`
  return new DomainError('INVALID_STATE', message, { instanceId, cause: 'destroyed' })
}

/** The same error with a face's field names in its paths. An error without renamed fields is returned as it is. */
export function renameIssuePaths<E>(error: E, names: Record<string, string>): E | DomainError {
  if (!(error instanceof DomainError) || error.code !== 'INVALID_INPUT') return error
  const { issues } = error.details
  const renamed = issues.map(({ path, message }) => {
    const [head = '', ...rest] = path.split('.')
    return { path: [Object.hasOwn(names, head) ? names[head] : head, ...rest].join('.'), message }
  })
  const isRenamed = issues.some(({ path }, index) => path !== renamed[index]?.path)
  return isRenamed ? invalidInput(renamed) : error
}

/** The issues of a face, and those of the parts in which the face has found none. */
export function joinIssues(parseIssues: readonly Issue[] = [], issues: readonly Issue[]): Issue[] {
  const others = issues.filter(({ path }) => parseIssues.every(issue => issue.path !== path))
  return [...parseIssues, ...others]
}

/** An error lists at most this many issues, and says how many more there are. */
const maxIssues = 50

export function invalidInput(issues: Issue[], maxShown = maxIssues): DomainError<'INVALID_INPUT'> {
  const shown = issues.slice(0, maxShown)
  const rest = issues.length > maxShown ? [`There are ${issues.length - maxShown} more problems.`] : []
  const message = joinMessages([...shown.map(issue => withIds`${issue.path}: ${issue.message}`), ...rest])
  return new DomainError('INVALID_INPUT', message, { issues: shown })
}
