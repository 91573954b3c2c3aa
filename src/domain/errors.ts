import type { ExceededQuota } from './accounts/quotas.ts'
import type { SpendLimitWithUsage } from './billing/spend-limit.ts'
import type { Offer } from './offers/offers.ts'

/** Each error code, and whether the same request may succeed when it is repeated and nothing else has changed. */
export const retryable = {
  UNAUTHENTICATED: false,
  FORBIDDEN: false,
  NOT_FOUND: false,
  INVALID_INPUT: false,
  INVALID_CURSOR: false,
  // The offer stays gone: search for another.
  OFFER_UNAVAILABLE: false,
  BID_TOO_LOW: false,
  PRICE_CHANGED: false,
  INSUFFICIENT_CREDIT: false,
  SPEND_LIMIT_EXCEEDED: false,
  QUOTA_EXCEEDED: false,
  // The details name the time.
  START_BACKOFF: true,
  SSH_KEY_REQUIRED: false,
  INVALID_STATE: false,
  // The instance that has the volume may be about to release it.
  VOLUME_UNAVAILABLE: true,
  // Another offer may come to match.
  NO_OFFER_RENTED: true,
  IDEMPOTENCY_KEY_REUSED: false,
  // The first request ends within seconds. After that a repetition gets its answer.
  IDEMPOTENCY_IN_PROGRESS: true,
  CONFLICT: false,
  CURSOR_EXPIRED: false,
  // Another stream of the key may end.
  TOO_MANY_STREAMS: true,
  STREAM_ENDED: true,
  UNAVAILABLE: true,
} satisfies Record<string, boolean>

/** The one list of error codes. Each face has a table over it that does not compile without an entry for every code. */
export type ErrorCode = keyof typeof retryable

/** One thing wrong with an input, and where. The message continues the path, and does not repeat it. */
export type Issue = { path: string; message: string }

/** Why Berth ends a stream that its reader did not. */
export type StreamEndReason = 'KEY_ENDED' | 'TOO_SLOW' | 'TOO_LONG' | 'GATEWAY_STOPS'

/** An offer that was tried, and why the next one was tried; null for the one that was rented. */
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

/** What an error of each code says beside its message. Rates are nano-dollars per hour. */
export type DetailsOf = {
  UNAUTHENTICATED: undefined
  /** `missing`: permission categories that the key lacks. Empty where no permission would help. */
  FORBIDDEN: { missing: string[] }
  /** Null where the caller named it by something other than its id. */
  NOT_FOUND: { subject: Subject | null }
  /** Every problem of the input. Empty where only the message says what is wrong. */
  INVALID_INPUT: { issues: Issue[] }
  INVALID_CURSOR: undefined
  /**
   * `instanceId`: the instance of the caller's that used the offer up. `cancelled`: the caller asked to cancel rather than
   * wait for GPUs.
   */
  OFFER_UNAVAILABLE: { instanceId: bigint | null; alternatives: Offer[]; cancelled: boolean }
  BID_TOO_LOW: { minimumBidNanos: bigint }
  PRICE_CHANGED: { currentPriceNanos: bigint }
  /** `neededNanos`: the credit that the account needs, with what was asked for; null where that was not computed. */
  INSUFFICIENT_CREDIT: { availableNanos: bigint; neededNanos: bigint | null }
  /** `askedNanos`: what the request would add to the spending of each hour. */
  SPEND_LIMIT_EXCEEDED: { limit: SpendLimitWithUsage; askedNanos: bigint }
  QUOTA_EXCEEDED: { quota: ExceededQuota }
  START_BACKOFF: { retryAfter: Date }
  SSH_KEY_REQUIRED: undefined
  /** `instanceId`: null where the error is about a machine. `onDemand`: a new bid was refused because the price is fixed. */
  INVALID_STATE: { instanceId: bigint | null; onDemand: boolean }
  /** `instanceId`: the instance that has the volume. */
  VOLUME_UNAVAILABLE: { volumeId: bigint; instanceId: bigint }
  /** The offers that were tried, and why each was not rented. */
  NO_OFFER_RENTED: { attempts: Attempt[] }
  IDEMPOTENCY_KEY_REUSED: undefined
  IDEMPOTENCY_IN_PROGRESS: undefined
  /** The one that exists already; null where the account has as many as it may, or nothing exists. */
  CONFLICT: { subject: Subject | null }
  CURSOR_EXPIRED: undefined
  TOO_MANY_STREAMS: undefined
  STREAM_ENDED: { ending: StreamEndReason }
  /** `undone`: it is certain that the request changed nothing. */
  UNAVAILABLE: { undone: boolean }
}

/** The last arguments of an error: its details, or nothing where its code has none. */
type DetailArguments<C extends ErrorCode> = DetailsOf[C] extends undefined ? [] : [details: DetailsOf[C]]

class CodedError<C extends ErrorCode> extends Error {
  override readonly name = 'DomainError'
  readonly code: C
  readonly details: DetailArguments<C>[0]

  constructor(code: C, message: string, ...[details]: DetailArguments<C>) {
    super(message)
    this.code = code
    this.details = details
  }
}

/** A refusal that the caller may read: one of all codes, so that a check of the code tells the details. */
export type DomainError<C extends ErrorCode = ErrorCode> = { [Code in C]: CodedError<Code> }[C]

/** Any other error that is thrown is a bug, and the faces mask it. */
export const DomainError: {
  new <C extends ErrorCode>(code: C, message: string, ...details: DetailArguments<C>): CodedError<C>
  /** `instanceof` narrows to this. */
  readonly prototype: DomainError
} = CodedError

/** There is no such thing, or it is another's: nobody is told which. */
export function notFound(type: Subject['type'], id: Subject['id']): DomainError<'NOT_FOUND'> {
  return new DomainError('NOT_FOUND', `${subjectNames[type]} ${id} not found.`, { subject: { type, id } })
}

/** The state of the instance does not allow it. */
export function invalidState(instanceId: bigint, message: string): DomainError<'INVALID_STATE'> {
  return new DomainError('INVALID_STATE', message, { instanceId, onDemand: false })
}

/** The same refusal in the names of a face, which may call a field otherwise. An error with no such field is returned as it is. */
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

/** A request with more problems is told the first of them, and how many more there are. */
const maxIssues = 50

export function invalidInput(issues: Issue[], maxShown = maxIssues): DomainError<'INVALID_INPUT'> {
  const shown = issues.slice(0, maxShown)
  const rest = issues.length > maxShown ? [`There are ${issues.length - maxShown} more problems.`] : []
  const message = [...shown.map(issue => `${issue.path}: ${issue.message}`), ...rest].join(' ')
  return new DomainError('INVALID_INPUT', message, { issues: shown })
}
