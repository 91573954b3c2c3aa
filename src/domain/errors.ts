import type { ExceededQuota } from './accounts/quotas.ts'
import type { UsedLimit } from './billing/limits.ts'
import type { Offer } from './offers/offers.ts'

export const errorCodes = [
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NOT_FOUND',
  'INVALID_INPUT',
  'INVALID_CURSOR',
  'OFFER_UNAVAILABLE',
  'BID_TOO_LOW',
  'PRICE_CHANGED',
  'INSUFFICIENT_CREDIT',
  'SPEND_LIMIT_EXCEEDED',
  'QUOTA_EXCEEDED',
  'START_BACKOFF',
  'SSH_KEY_REQUIRED',
  'INVALID_STATE',
  'VOLUME_UNAVAILABLE',
  'NO_OFFER_RENTED',
  'IDEMPOTENCY_KEY_REUSED',
  'IDEMPOTENCY_IN_PROGRESS',
  'CONFLICT',
  'CURSOR_EXPIRED',
  'TOO_MANY_STREAMS',
  'STREAM_ENDED',
  'UNAVAILABLE',
] as const
export type ErrorCode = (typeof errorCodes)[number]

/**
 * Whether the same request may succeed when it is repeated, and nobody has done anything else. Others must be changed
 * first, or need credit, a key or a state that a repetition does not bring.
 */
const retryable: Record<ErrorCode, boolean> = {
  UNAUTHENTICATED: false,
  FORBIDDEN: false,
  NOT_FOUND: false,
  INVALID_INPUT: false,
  INVALID_CURSOR: false,
  // A search finds what there is instead.
  OFFER_UNAVAILABLE: false,
  BID_TOO_LOW: false,
  PRICE_CHANGED: false,
  INSUFFICIENT_CREDIT: false,
  SPEND_LIMIT_EXCEEDED: false,
  QUOTA_EXCEEDED: false,
  // It names the instant.
  START_BACKOFF: true,
  SSH_KEY_REQUIRED: false,
  INVALID_STATE: false,
  // The instance that has it may be on its way out.
  VOLUME_UNAVAILABLE: true,
  // Another offer may come to match.
  NO_OFFER_RENTED: true,
  IDEMPOTENCY_KEY_REUSED: false,
  // The first request ends within seconds, and is answered again then.
  IDEMPOTENCY_IN_PROGRESS: true,
  CONFLICT: false,
  CURSOR_EXPIRED: false,
  // A stream of the key may end.
  TOO_MANY_STREAMS: true,
  STREAM_ENDED: true,
  UNAVAILABLE: true,
}

export function isRetryable(code: ErrorCode): boolean {
  return retryable[code]
}

/** One thing wrong with an input, and where. The message reads on from the path, and does not repeat it. */
export type Issue = { path: string; message: string }

/** Why Berth ends a stream that its reader did not. */
export type StreamEnding = 'KEY_ENDED' | 'TOO_SLOW' | 'TOO_LONG' | 'GATEWAY_STOPS'

const subjects = {
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

type Details = {
  /** Everything wrong with an input, not only the first thing. */
  issues?: Issue[]
  /** Permission categories that the key lacks. */
  missing?: string[]
  /** The instance that it is about. */
  instanceId?: bigint
  /** The offers that were tried, and why each was not rented. */
  attempts?: { offerId: bigint; code: ErrorCode | null }[]
  /** What else it is about. */
  subject?: { type: keyof typeof subjects; id: number | bigint }
  /** It is rented at a price that stays. */
  onDemand?: true
  /** The least bid that is accepted, per hour. */
  minimumBidNanos?: bigint
  /** What the offer costs now, per hour. */
  currentPriceNanos?: bigint
  /** What is left to spend. */
  availableNanos?: bigint
  /** The credit that the account needs with what was asked for. */
  neededNanos?: bigint
  /** The quota that would be exceeded. */
  quota?: ExceededQuota
  /** When the same request can succeed. */
  retryAfter?: Date
  /** The limit that would be exceeded, and what would be spent more per hour. */
  limit?: UsedLimit
  askedNanos?: bigint
  /** Nothing of it was done, which is certain. */
  undone?: true
  /** Why a stream ended that could have gone on. */
  ending?: StreamEnding
  /** The offer that cannot be rented, and the instance of the caller's that used it up. */
  offer?: { id: bigint; instanceId: bigint | undefined; alternatives: Offer[]; cancelled: boolean }
}

/** A refusal that the caller may read. Anything else that is thrown is a bug, and is masked at the face. */
export class DomainError extends Error {
  override readonly name = 'DomainError'
  readonly code: ErrorCode
  readonly details: Details

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message)
    this.code = code
    this.details = details
  }
}

/** There is no such thing, or it is another's: nobody is told which. */
export function notFound(type: keyof typeof subjects, id: number | bigint): DomainError {
  return new DomainError('NOT_FOUND', `${subjects[type]} ${id} not found.`, { subject: { type, id } })
}

/** The same refusal in the names of a face, which may call a field otherwise. One with no such field keeps its words. */
export function renameIssues(error: unknown, names: Record<string, string>): unknown {
  if (!(error instanceof DomainError) || error.code !== 'INVALID_INPUT' || !error.details.issues) return error
  const renamed = error.details.issues.map(({ path, message }) => {
    const [head = '', ...rest] = path.split('.')
    return { path: [Object.hasOwn(names, head) ? names[head] : head, ...rest].join('.'), message }
  })
  const isOther = error.details.issues.some(({ path }, index) => path !== renamed[index]?.path)
  return isOther ? invalidInput(renamed) : error
}

/** A request with more problems is told the first of them, and how many more there are. */
const maxIssues = 50

export function invalidInput(issues: Issue[], most = maxIssues): DomainError {
  const told = issues.slice(0, most)
  const rest = issues.length > most ? [`There are ${issues.length - most} more problems.`] : []
  const message = [...told.map(issue => `${issue.path}: ${issue.message}`), ...rest].join(' ')
  return new DomainError('INVALID_INPUT', message, { issues: told })
}
